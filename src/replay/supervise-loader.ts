/**
 * The loader as a child process that may die.
 *
 * Deliveries of a queue go to the child by name; it says what became of them. When
 * it dies it is started again, and what it had not acknowledged is delivered again:
 * what it had open with one death more on its account. At two the loader only looks
 * into the ledger and writes the receipt; when even that kills it, we write it.
 * A loader that says nothing for two minutes is killed: it hangs on what it has open.
 */

import type { ChildProcess } from "node:child_process";
import type { Clock } from "../clock.ts";
import { asIngestError, IngestError } from "../errors.ts";
import type { ReplayJob } from "../flow.ts";
import type { Log } from "../log.ts";
import { failedReceipt } from "../receipt/pending-receipt.ts";
import type { WakingReceiptBook } from "../receipt/store-receipt-book.ts";
import type { ObjectStore } from "../stage/object-store.ts";
import { isTombstone, readManifest } from "../stage/stage-upload.ts";
import type { Delivery, ReplayQueue } from "../trigger/replay-queue.ts";
import { problemOf } from "../upload/problem-json.ts";
import { createEarlyUploads, type EarlyUploads } from "./early-uploads.ts";
import type { FromLoader, ToLoader } from "./loader-link.ts";
import { maxDeaths } from "./replay-one.ts";

export interface SuperviseOptions {
	queue: ReplayQueue;
	/** Starts a loader with an IPC channel. */
	fork(): ChildProcess;
	store: ObjectStore;
	receipts: WakingReceiptBook;
	clock: Clock;
	log: Log;
	/** Deliveries with the child at once. */
	maxInFlight?: number;
	/** Durable bytes from which on an upload is loaded while it arrives. */
	earlyFromBytes?: number | undefined;
	/** What runs at a stop has so long to end before the child is killed. */
	drainMs?: number;
}

export interface Supervisor {
	/** The loader is there and takes jobs. */
	isReady(): boolean;
	/** Loaders that died unasked. */
	deaths(): number;
	/** Process id of the present loader. */
	pid(): number | undefined;
	/** Uploads that are loaded while they arrive: for who stages them in this process. */
	readonly early: EarlyUploads;
	/** Drains and ends. What was not acknowledged is found by the next sweep. */
	stop(): Promise<void>;
}

interface InFlight {
	delivery: Delivery;
	opened: boolean;
}

/** A loader whose event loop stands still so long is as good as dead. */
const silenceMs = 120_000;
const firstRestartMs = 50;
const longestRestartMs = 2_000;

export function superviseLoader(options: SuperviseOptions): Supervisor {
	const { queue, clock, log, maxInFlight = 128, drainMs = 30_000 } = options;
	const stopping = new AbortController();
	const inFlight = new Map<number, InFlight>();
	/** By `tenant/id`; kept until the load has its receipt. */
	const deathsOf = new Map<string, number>();
	let child: ChildProcess | null = null;
	let ready = false;
	let died = 0;
	let quickDeaths = 0;
	let acked = false;
	let lastNumber = 0;
	let heardAt = clock.now();
	let changed = Promise.withResolvers<void>();
	let gone = Promise.withResolvers<void>();

	const early = createEarlyUploads({
		send(message) {
			if (!ready || stopping.signal.aborted || !child?.connected) return false;
			child.send(message, () => {});
			return true;
		},
		fromBytes: options.earlyFromBytes,
		mayBegin: (job) => !deathsOf.has(nameOf(job)),
	});
	const nameOf = ({ tenant, upload_id }: ReplayJob) => `${tenant}/${upload_id}`;
	function change(): void {
		changed.resolve();
		changed = Promise.withResolvers();
	}

	function hand(n: number, { delivery }: InFlight): void {
		const { job, attempt } = delivery;
		early.completed(job);
		const message: ToLoader = {
			type: "load",
			n,
			job,
			attempt,
			deaths: deathsOf.get(nameOf(job)) ?? 0,
		};
		if (child?.connected) child.send(message, () => {});
	}

	function start(): void {
		const started = options.fork();
		const startedAt = clock.now();
		child = started;
		started.on("message", (messages: FromLoader[]) => {
			for (const message of messages) hear(message);
		});
		started.on("error", (error) =>
			log.error("the loader cannot be started", { error: error.message }),
		);
		// `close` comes after the last message, `exit` may come before it.
		started.once("close", (code, signal) => {
			child = null;
			ready = false;
			change();
			gone.resolve();
			if (stopping.signal.aborted) return;
			died++;
			// One that got something done is no loader that can't live.
			quickDeaths = acked || clock.now() - startedAt > 10_000 ? 0 : quickDeaths + 1;
			acked = false;
			const pause = Math.min(longestRestartMs, firstRestartMs * 2 ** Math.min(10, quickDeaths));
			const opened = [...inFlight.values()].filter((one) => one.opened);
			for (const one of opened) one.opened = false;
			const open = new Map(
				[...opened.map(({ delivery }) => delivery.job), ...early.loaderDied()].map((job) => [
					nameOf(job),
					job,
				]),
			);
			log.error("the loader died and is started again", {
				code,
				signal,
				open: [...open.values()].map((job) => job.upload_id),
				in_flight: inFlight.size,
			});
			for (const name of open.keys()) deathsOf.set(name, (deathsOf.get(name) ?? 0) + 1);
			clock.sleep(pause, stopping.signal).then(
				() => {
					gone = Promise.withResolvers();
					start();
				},
				() => {},
			);
		});
	}

	function hear(message: FromLoader): void {
		heardAt = clock.now();
		if (message.type === "alive") return;
		if (message.type === "ready") {
			ready = true;
			for (const [n, one] of inFlight) {
				const deaths = deathsOf.get(nameOf(one.delivery.job)) ?? 0;
				if (deaths > maxDeaths) giveUp(n, one, deaths);
				else hand(n, one);
			}
			change();
			return;
		}
		if (message.type === "early-ended") {
			early.ended(message.job, message.outcome);
			return;
		}
		const one = inFlight.get(message.n);
		if (one === undefined) return;
		if (message.type === "opened") {
			one.opened = true;
			return;
		}
		inFlight.delete(message.n);
		change();
		const { job } = one.delivery;
		if (message.type === "ack") {
			acked = true;
			deathsOf.delete(nameOf(job));
			options.receipts.wake(job.tenant, job.upload_id);
			one.delivery.ack().catch(report);
		} else {
			const { delayMs, sameAttempt } = message;
			one.delivery.retry(delayMs, { sameAttempt }).catch(report);
		}
	}

	/** The loader dies even when it only looks into the ledger: the receipt is ours to write. */
	function giveUp(n: number, { delivery }: InFlight, deaths: number): void {
		inFlight.delete(n);
		const { job } = delivery;
		failLoad(options, job, deaths).then(
			async () => {
				deathsOf.delete(nameOf(job));
				await delivery.ack();
			},
			async (error) => {
				report(error);
				await delivery.retry(5_000, { sameAttempt: true });
			},
		);
	}

	const report = (error: unknown) =>
		log.error("the loader's supervisor met an error", { error: asIngestError(error).message });

	async function watch(): Promise<void> {
		for (;;) {
			const before = clock.now();
			await clock.sleep(silenceMs / 8, stopping.signal);
			// A clock that jumped, or a machine that slept, is no silence.
			if (clock.now() - before > silenceMs / 2) heardAt = clock.now();
			if (!ready || clock.now() - heardAt < silenceMs) continue;
			log.error("the loader hangs and is killed", { in_flight: inFlight.size });
			child?.kill("SIGKILL");
			heardAt = clock.now();
		}
	}

	async function pump(): Promise<void> {
		for await (const delivery of queue.receive(stopping.signal)) {
			const n = ++lastNumber;
			const one = { delivery, opened: false };
			inFlight.set(n, one);
			if (ready) hand(n, one);
			while (inFlight.size >= maxInFlight && !stopping.signal.aborted) {
				await Promise.race([changed.promise, aborted(stopping.signal)]);
			}
		}
	}

	start();
	pump().catch(report);
	watch().catch(() => {});

	return {
		isReady: () => ready,
		deaths: () => died,
		pid: () => child?.pid,
		early: {
			...early,
			gone(tenant, upload_id) {
				early.gone(tenant, upload_id);
				deathsOf.delete(nameOf({ tenant, upload_id }));
			},
		},
		async stop() {
			if (stopping.signal.aborted) return;
			stopping.abort();
			const last = child;
			if (last === null) return;
			if (last.connected) last.send({ type: "drain" } satisfies ToLoader, () => {});
			const timer = setTimeout(() => last.kill("SIGKILL"), drainMs);
			await gone.promise;
			clearTimeout(timer);
		},
	};
}

async function failLoad(options: SuperviseOptions, job: ReplayJob, deaths: number): Promise<void> {
	const { tenant, upload_id: id } = job;
	const manifest = await readManifest(options.store, tenant, id);
	if (manifest === null || isTombstone(manifest)) return;
	const now = options.clock.now();
	const detail = `the loader died ${deaths} times on this load`;
	const problem = problemOf(new IngestError("internal", detail), {
		instance: `/v1/loads/${id}`,
		load_id: id,
	});
	await options.receipts.write(
		failedReceipt(manifest, {
			problem: { ...problem, detail },
			startedAt: now,
			endedAt: now,
			attempts: deaths,
		}),
	);
}

function aborted(signal: AbortSignal): Promise<void> {
	return new Promise((resolve) => {
		if (signal.aborted) resolve();
		else signal.addEventListener("abort", () => resolve(), { once: true });
	});
}
