/**
 * Uploads that are loaded while they arrive: in the loader, a few at a time.
 *
 *   begin   upload.json > the parts that are durable, read as more come > the sink's transaction
 *   take    the manifest is there and the upload's lease is ours: what was read is held against it,
 *           the rest is read, and only then is there a ledger row and a COMMIT
 *
 * Nothing rests on it but time. An attempt that fails, in whatever way, is rolled back and says
 * nothing: the upload is loaded the ordinary way once it is complete, and that is its verdict.
 * An attempt that nobody has taken holds up nobody: it ends when others wait for what it holds, when
 * a load runs that must run alone, when its upload is silent, and when the loader is told to stop.
 */

import type { BatchReader } from "../arrow/batch-reader.ts";
import type { Receipt, ReplayJob, UploadRequest } from "../flow.ts";
import type { SinkDatabase } from "../insert/batch-sink.ts";
import { earlyIdleMs, earlyWaitMs } from "../limits.ts";
import type { Claim } from "../stage/claim-key.ts";
import { getJson } from "../stage/json-object.ts";
import { idempotencyKey, uploadKey } from "../stage/object-keys.ts";
import { assertCounts } from "./assert-counts.ts";
import { followStaged } from "./follow-staged.ts";
import { loadReceipt } from "./load-receipt.ts";
import type { EarlyListener, EarlyOutcome } from "./loader-link.ts";
import { PartFeed } from "./part-feed.ts";
import type { BegunLoad, ReplayDeps } from "./replay-one.ts";

export interface EarlyLoadsOptions {
	/** No attempt begins while this says false. */
	mayBegin(): boolean;
	/** An attempt has ended and its transaction is gone. */
	onEnd(job: ReplayJob, outcome: EarlyOutcome): void;
	idleMs?: number;
}

export interface EarlyLoads extends EarlyListener {
	/** The attempt at this load, which is the caller's from now on; null: there is none. */
	take(load: BegunLoad): EarlyLoad | null;
	/** Attempts that nobody has taken. */
	untaken(): number;
	/** Ends those. */
	giveWay(reason: string): void;
	/** Resolves when none runs. */
	idle(): Promise<void>;
}

export interface EarlyLoad {
	/** Settles when the transaction is over. Null: nothing came of it, load it the ordinary way. */
	finish(): Promise<Receipt | null>;
}

interface Attempt {
	tenant: string;
	feed: PartFeed;
	stop: AbortController;
	load: BegunLoad | null;
	/** It has the locks that it needs, and its batches are read. */
	inserting: boolean;
	ended: Promise<Receipt | null>;
}

const never = new Promise<never>(() => {});

function told(reader: BatchReader, onRead: () => void): BatchReader {
	return {
		sentFields: reader.sentFields,
		engineFields: reader.engineFields,
		batches(signal) {
			onRead();
			return reader.batches(signal);
		},
		counts: () => reader.counts(),
		warnings: () => reader.warnings(),
	};
}

/** Whether the key was claimed by another upload, whose content this one most likely has. */
async function isRepeat({ store }: ReplayDeps, upload: UploadRequest): Promise<boolean> {
	const { tenant, idempotency_key: key, upload_id: id } = upload;
	if (key === null) return false;
	const claim = await getJson<Claim>(store, await idempotencyKey(tenant, key));
	return claim !== null && claim.value.upload_id !== id;
}

export function createEarlyLoads(deps: ReplayDeps, options: EarlyLoadsOptions): EarlyLoads {
	const attempts = new Map<string, Attempt>();
	const nameOf = ({ tenant, upload_id }: ReplayJob) => `${tenant}/${upload_id}`;

	function end(attempt: Attempt, reason: string): void {
		if (attempt.load === null) attempt.stop.abort(new Error(reason));
	}

	async function run(job: ReplayJob, attempt: Attempt): Promise<Receipt> {
		const { feed, stop } = attempt;
		const { signal } = stop;
		const { tenant, upload_id: id } = job;
		const startedAt = deps.clock.now();
		const upload = (await getJson<UploadRequest>(deps.store, uploadKey(tenant, id)))?.value;
		if (upload === undefined) throw new Error("its request is not there yet");
		if (upload.dry_run) throw new Error("it is a dry run");
		if (await isRepeat(deps, upload)) throw new Error("its key stands for another load");
		const source = followStaged(deps, feed, job);
		let database: SinkDatabase | undefined;
		try {
			if (await source.isFile()) throw new Error("it is an IPC file");
			const reader = await deps.openReader(source, upload, signal);
			if ("path" in reader) throw new Error("it is a file of another format");
			database = await deps.sink.open(tenant, signal);
			const [outcome] = await database.insert(
				[
					{
						loadId: id,
						// What the caller says of its rows it may say at the end.
						parameters: { ...upload, rows: null },
						reader: told(reader, () => {
							attempt.inserting = true;
						}),
						signal,
						othersWait: () => end(attempt, "others wait for what it holds"),
						// The reader has ended, so the manifest is there and the load was taken.
						async beforeCommit(counts) {
							const { manifest, lease } = attempt.load!;
							assertCounts(manifest, counts);
							await source.verifyRest(signal);
							await lease.assertOwned();
						},
						receipt(result, counts) {
							const { manifest, attempt: attempts, deaths } = attempt.load!;
							const endedAt = deps.clock.now();
							return loadReceipt(manifest, result, counts, {
								attempts: attempts + deaths,
								startedAt,
								endedAt,
							});
						},
					},
				],
				async () => {
					throw new Error("it lost a race against another load");
				},
			);
			if (outcome !== undefined && "receipt" in outcome) return outcome.receipt;
			throw outcome?.error;
		} finally {
			await source.close();
			await database?.close();
		}
	}

	function giveWay(reason: string, tenant?: string): void {
		for (const attempt of attempts.values()) {
			if (tenant === undefined || attempt.tenant === tenant) end(attempt, reason);
		}
	}

	return {
		begin(job, parts) {
			const name = nameOf(job);
			if (attempts.has(name)) return;
			if (!options.mayBegin()) return options.onEnd(job, "declined");
			const stop = new AbortController();
			const feed = new PartFeed(parts, {
				clock: deps.clock,
				idleMs: options.idleMs ?? earlyIdleMs,
				maxWaitMs: earlyWaitMs,
				onStale: (n) => stop.abort(new Error(`part ${n} was sent again after it was read`)),
			});
			const { tenant } = job;
			const attempt: Attempt = { tenant, feed, stop, load: null, inserting: false, ended: never };
			attempts.set(name, attempt);
			const log = deps.log.with({ tenant, load_id: job.upload_id });
			log.debug("an upload is loaded while it arrives", { parts: parts.length });
			attempt.ended = run(job, attempt).then(
				(receipt) => {
					attempts.delete(name);
					options.onEnd(job, "committed");
					return receipt;
				},
				(error) => {
					stop.abort(error);
					attempts.delete(name);
					log.debug("an early load came to nothing", { error: (error as Error).message });
					options.onEnd(job, "given up");
					return null;
				},
			);
		},
		part: (job, part) => attempts.get(nameOf(job))?.feed.add(part),
		gone(job) {
			const attempt = attempts.get(nameOf(job));
			if (attempt) end(attempt, "no load comes of the upload");
		},

		take(load) {
			const { manifest, lease, deaths } = load;
			const attempt = attempts.get(nameOf(load.job));
			if (attempt === undefined) return null;
			const { feed, stop, ended } = attempt;
			const suits = deaths === 0 && manifest.same_content_as === undefined;
			attempt.load = load;
			if (suits && feed.complete(manifest.parts)) {
				const lose = () => stop.abort(lease.signal.reason);
				if (lease.signal.aborted) lose();
				lease.signal.addEventListener("abort", lose, { once: true });
				// It may wait for one that is not complete, and now it can't wait any more.
				if (!attempt.inserting) giveWay("another one is complete and waits", load.job.tenant);
			} else {
				stop.abort(new Error("the upload is not the one that was read"));
			}
			return { finish: () => ended };
		},
		untaken: () => [...attempts.values()].filter(({ load }) => load === null).length,
		giveWay,
		async idle() {
			while (attempts.size > 0) await Promise.all([...attempts.values()].map(({ ended }) => ended));
		},
	};
}
