/**
 * Deliveries in, loads out: which run side by side, which share a transaction.
 *
 *   delivery > begin (a few at once) > the tenant's lane > a group > acknowledgement
 *
 * A lane runs one group of small loads and a few large ones at a time; what comes
 * while a group runs waits and makes the next group, so sharing grows with the
 * load on it and costs a single upload nothing (`lane.ts`). The next group runs
 * while the receipts of the one before it are written. Lanes of different tenants run
 * side by side, all within one bound. A load that was open when a loader died runs
 * with nothing beside it, so that a second death says whose fault it was.
 */

import type { Log } from "../log.ts";
import type { Delivery, ReplayQueue } from "../trigger/replay-queue.ts";
import { createEarlyLoads, type EarlyLoad } from "./early-loads.ts";
import { createHistoryBook } from "./history-book.ts";
import {
	createLane,
	groupEnded,
	isIdle,
	isSmall,
	type Lane,
	nextGroup,
	patienceMs,
	type Waiting,
} from "./lane.ts";
import { createLeaseTerms } from "./lease.ts";
import type { EarlyLine } from "./loader-link.ts";
import {
	type BegunLoad,
	beginLoad,
	finishLoad,
	maxDeaths,
	type ReplayDeps,
	type ReplayOutcome,
	runLoads,
} from "./replay-one.ts";
import { createTableBook } from "./table-book.ts";
import { createUsageBook } from "./usage-book.ts";

export interface LoopOptions {
	/** Deliveries held at once; more are not taken from the queue. One group runs, the next one waits; each renews its lease. */
	maxHeld?: number;
	/** Groups and large loads that run at once, all tenants together. */
	maxRunning?: number;
	/** Whether tenants' usage is written down, for quotas. */
	countUsage?: boolean;
	/** Loads in one transaction; 1: no sharing. */
	maxShared?: number;
	/** Cuts short what runs and gives it back: where the platform ends the process soon. */
	cut?: AbortSignal;
	/** Where word comes from of uploads that can be loaded while they arrive. */
	early?: EarlyLine | undefined;
}

/** Ends after `stop` aborted and what ran has ended; what only waited is given back. */
export async function runReplayLoop(
	deps: ReplayDeps,
	queue: ReplayQueue,
	stop: AbortSignal,
	options: LoopOptions = {},
): Promise<void> {
	const { maxHeld = 128, maxRunning = 4, maxShared = 64 } = options;
	const tables = createTableBook(deps);
	const history = createHistoryBook({ ...deps, tables, stop });
	const beginDeps = { ...deps, terms: createLeaseTerms(deps) };
	const usage = options.countUsage ? createUsageBook(deps) : null;
	const lanes = new Map<string, Lane>();
	const tasks = new Set<Promise<void>>();
	let held = 0;
	let running = 0;
	/** Loads whose transaction is over and whose receipt isn't durable yet. */
	let ending = 0;
	let pumping = false;
	let alone = false;
	let freed = Promise.withResolvers<void>();
	/** Loads are not cut short by a stop: they end, or the process does. */
	const { cut = new AbortController().signal } = options;

	const isSuspect = ({ waiting }: Lane) => waiting.some(({ load }) => load.deaths > 0);
	const early =
		options.early &&
		createEarlyLoads(deps, {
			mayBegin: () => !stop.aborted && !alone && ![...lanes.values()].some(isSuspect),
			onEnd(job, outcome) {
				options.early?.ended(job, outcome);
				pump();
			},
		});
	if (early) options.early?.listen(early);
	stop.addEventListener("abort", () => early?.giveWay("the loader is told to stop"), {
		once: true,
	});

	function track(task: Promise<void>): void {
		const tracked = task
			.catch((error) => fail(deps.log, error))
			.finally(() => tasks.delete(tracked));
		tasks.add(tracked);
	}

	function letGo(): void {
		held--;
		freed.resolve();
		freed = Promise.withResolvers();
	}

	async function begin(delivery: Delivery): Promise<void> {
		const { job, attempt, deaths = 0 } = delivery;
		const begun = await beginLoad(beginDeps, { job, attempt, deaths });
		if ("kind" in begun) {
			await answer(delivery, begun);
			letGo();
			return;
		}
		usage?.begin(job.tenant, begun.size);
		if (stop.aborted) {
			await end(begun, delivery, { kind: "again", delayMs: 0, sameAttempt: true });
			return;
		}
		const lane = lanes.get(job.tenant) ?? createLane(job.tenant);
		lanes.set(job.tenant, lane);
		const taken = early?.take(begun) ?? null;
		const one = { load: begun, delivery, since: deps.clock.now() };
		if (taken === null) lane.waiting.push(one);
		else track(conclude(lane, one, taken));
		pump();
	}

	/** What was begun while the upload arrived counts as a large load that runs. */
	async function conclude(lane: Lane, one: Waiting, taken: EarlyLoad): Promise<void> {
		const { load, delivery } = one;
		running++;
		lane.large++;
		try {
			delivery.opened?.();
			const receipt = await taken.finish();
			if (receipt !== null) {
				const outcome = await finishLoad({ ...deps, tables }, undefined, load, { receipt }, cut);
				track(end(load, delivery, outcome));
				history.look(lane.tenant);
			} else if (stop.aborted) {
				track(end(load, delivery, { kind: "again", delayMs: 0, sameAttempt: true }));
			} else lane.waiting.push(one);
		} finally {
			running--;
			lane.large--;
			pump();
		}
	}

	/** At the end of this turn: what is begun in one turn can share a transaction. */
	function pump(): void {
		if (pumping) return;
		pumping = true;
		track(
			new Promise((resolve) => {
				setImmediate(() => {
					pumping = false;
					startGroups();
					resolve();
				});
			}),
		);
	}

	/** `last`: nothing more comes that a group could wait for. */
	function startGroups(last = false): void {
		if (stop.aborted) return;
		const now = deps.clock.now();
		const all = [...lanes.values()];
		const suspect = all.some(isSuspect);
		if (suspect) early?.giveWay("a load that must run alone waits");
		const beside = running + ending + (early?.untaken() ?? 0);
		for (const lane of all) {
			const waitMs = last ? 0 : patienceMs(lane, maxShared, now);
			const which = { maxShared, suspects: suspect, patient: waitMs > 0 };
			if (waitMs > 0) track(deps.clock.sleep(waitMs).then(pump));
			for (;;) {
				const free = running < maxRunning && !alone && !(suspect && beside > 0);
				const group = free ? nextGroup(lane, which) : null;
				if (group === null) break;
				track(run(lane, group));
			}
			if (isIdle(lane, now)) lanes.delete(lane.tenant);
		}
	}

	async function run(lane: Lane, group: Waiting[]): Promise<void> {
		const shared = isSmall(group[0]!.load);
		const suspect = group[0]!.load.deaths > 0;
		const startedAt = deps.clock.now();
		running++;
		if (suspect) alone = true;
		if (shared) lane.sharing = true;
		else lane.large++;
		try {
			for (const { delivery, load } of group) if (load.deaths < maxDeaths) delivery.opened?.();
			const loads = group.map(({ load }) => load);
			const outcomes = await runLoads({ ...deps, tables }, lane.tenant, loads, cut);
			const ended = group.map(({ load, delivery }, at) => end(load, delivery, outcomes[at]!));
			for (const one of ended) track(one);
			if (suspect) await Promise.all(outcomes);
			// Not before their receipts are written: the ledger has them already.
			track(Promise.allSettled(ended).then(() => history.look(lane.tenant)));
		} finally {
			running--;
			if (suspect) alone = false;
			if (shared) {
				const now = deps.clock.now();
				lane.sharing = false;
				groupEnded(lane, group.length, now - startedAt, now);
			} else lane.large--;
			pump();
		}
	}

	/** Who waits for the receipt hears of it first; a job that comes again must find its lease free. */
	async function end(
		load: BegunLoad,
		delivery: Delivery,
		ended: ReplayOutcome | Promise<ReplayOutcome>,
	): Promise<void> {
		ending++;
		try {
			const outcome = await ended;
			if (outcome.kind === "done") await delivery.ack();
			await load.lease.release().catch((error) => fail(deps.log, error));
			if (outcome.kind === "again") await answer(delivery, outcome);
		} finally {
			usage?.end(load.manifest.tenant, load.size);
			letGo();
			ending--;
			if (ending === 0) pump();
		}
	}

	for await (const delivery of queue.receive(stop)) {
		held++;
		track(begin(delivery));
		while (held >= maxHeld && !stop.aborted) await freed.promise;
	}
	startGroups(true);
	const given = [...lanes.values()].flatMap((lane) => lane.waiting.splice(0));
	for (const { load, delivery } of given) {
		track(end(load, delivery, { kind: "again", delayMs: 0, sameAttempt: true }));
	}
	while (tasks.size > 0) await Promise.all(tasks);
	await early?.idle();
	await history.flush();
	await tables.flush();
	await usage?.flush();
}

function answer(delivery: Delivery, outcome: ReplayOutcome): Promise<void> {
	return outcome.kind === "done"
		? delivery.ack()
		: delivery.retry(outcome.delayMs, { sameAttempt: outcome.sameAttempt });
}

function fail(log: Log, error: unknown): void {
	log.error("the replay loop met an error", {
		error: error instanceof Error ? (error.stack ?? error.message) : String(error),
	});
}
