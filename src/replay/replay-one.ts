/**
 * A staged upload becomes rows: lease > open > decode > insert > receipt > release.
 *
 * In: the name of an upload. Out: a durable receipt, or when to try again. Exactly
 * once, because load_id = upload_id and the ledger's row of that id is written in
 * the transaction of the rows: however often a load is delivered, whoever dies
 * where, what was committed is found in the ledger and only gets its receipt.
 *
 *   begin    final receipt? > manifest > lease
 *   load     open > checked batches > the sink's transaction, alone or shared
 *            (parts, digest, rows and lease are looked at before COMMIT)
 *   finish   the table's description > receipt > acknowledgement > the lease goes
 */

import type { BatchReader } from "../arrow/batch-reader.ts";
import type { Clock } from "../clock.ts";
import { asIngestError, IngestError } from "../errors.ts";
import type {
	InsertResult,
	Manifest,
	Receipt,
	ReplayJob,
	StreamedCounts,
	UploadRequest,
} from "../flow.ts";
import type {
	BatchSink,
	InsertJob,
	InsertOutcome,
	ParquetReader,
	SinkDatabase,
} from "../insert/batch-sink.ts";
import type { Log } from "../log.ts";
import { failedReceipt } from "../receipt/pending-receipt.ts";
import { isTombstone, readManifest, removeParts } from "../stage/stage-upload.ts";
import { formatTableName } from "../table-name.ts";
import { problemOf } from "../upload/problem-json.ts";
import { assertCounts } from "./assert-counts.ts";
import { assertNewest } from "./assert-newest.ts";
import { type CompareDeps, compareContent } from "./compare-content.ts";
import { type Lease, type LeaseOptions, takeLease } from "./lease.ts";
import { loadReceipt } from "./load-receipt.ts";
import { openStaged, type StagedSource } from "./open-staged.ts";
import type { TableBook } from "./table-book.ts";
import { maxAttemptsOf, pauseMs, verdicts } from "./verdict.ts";

export interface ReplayDeps extends CompareDeps {
	sink: BatchSink;
	clock: Clock;
	log: Log;
	newId(): string;
	/** Staged bytes, content coding still on, as checked batches. Reads until the first schema. */
	openReader(
		source: StagedSource,
		upload: UploadRequest,
		signal: AbortSignal,
	): Promise<BatchReader | ParquetReader>;
	/** Told of each table before the receipt is. */
	tables?: TableBook;
	leaseMs?: number;
	terms?: LeaseOptions["terms"];
	/** Loaders run one by one and nobody counts their deaths: leases that none let go do. */
	deathsFromLeases?: boolean;
	process?: LeaseOptions["process"];
}

export interface ReplayRequest {
	job: ReplayJob;
	/** 1 on the first. */
	attempt: number;
	/** Times that a loader died with this load open; after the second its bytes are not opened again. */
	deaths: number;
}

/** Nothing more to do for now, or again after a while. */
export type ReplayOutcome =
	| { kind: "done" }
	| { kind: "again"; delayMs: number; sameAttempt: boolean };

/** An upload whose lease we hold. */
export interface BegunLoad extends ReplayRequest {
	manifest: Manifest;
	lease: Lease;
	/** Milliseconds since 1970. */
	startedAt: number;
	/** Staged bytes. */
	size: number;
}

const done: ReplayOutcome = { kind: "done" };
/** Two deaths of a loader are one too many to be somebody else's fault. */
export const maxDeaths = 2;

/** Null outcome: the load is ours and wants to be run. */
export async function beginLoad(
	deps: ReplayDeps,
	request: ReplayRequest,
): Promise<BegunLoad | ReplayOutcome> {
	const { tenant, upload_id: id } = request.job;
	try {
		const [receipt, manifest] = await Promise.all([
			deps.receipts.final(tenant, id),
			readManifest(deps.store, tenant, id),
		]);
		if (receipt !== null || manifest === null || isTombstone(manifest)) return done;
		const lease = await takeLease(deps, tenant, id);
		const size = manifest.parts.reduce((sum, part) => sum + part.size, 0);
		const deaths = deps.deathsFromLeases
			? Math.max(request.deaths, lease.abandoned)
			: request.deaths;
		return { ...request, deaths, manifest, lease, size, startedAt: deps.clock.now() };
	} catch (error) {
		const { code, retryAfterSeconds, message } = asIngestError(error);
		const busy = verdicts[code] === "later";
		deps.log[busy ? "debug" : "warn"]("a load could not begin", { load_id: id, code, message });
		// Nothing was tried yet, so nothing has failed: a store that is down comes back.
		const delayMs = busy ? (retryAfterSeconds ?? 1) * 1000 : pauseMs(request.attempt + 2);
		return { kind: "again", delayMs, sameAttempt: true };
	}
}

/**
 * Loads of one tenant, in one transaction where there are several. Resolves when it is over; what becomes of
 * each load, in order, once its receipt is durable. None rejects. Leases are still held.
 */
export async function runLoads(
	deps: ReplayDeps,
	tenant: string,
	loads: BegunLoad[],
	signal: AbortSignal,
): Promise<Promise<ReplayOutcome>[]> {
	let database: SinkDatabase | undefined;
	let outcomes: InsertOutcome[];
	try {
		database = await deps.sink.open(tenant, signal);
		outcomes = await insertAll(deps, database, loads, signal);
	} catch (error) {
		outcomes = loads.map(() => ({ error }));
	}
	let unfinished = loads.length;
	return outcomes.map(async (outcome, at) => {
		try {
			return await finishLoad(deps, database, loads[at]!, outcome, signal);
		} finally {
			unfinished--;
			if (unfinished === 0) await database?.close();
		}
	});
}

async function insertAll(
	deps: ReplayDeps,
	database: SinkDatabase,
	loads: BegunLoad[],
	signal: AbortSignal,
): Promise<InsertOutcome[]> {
	const outcomes = new Array<InsertOutcome>(loads.length);
	const jobs: { at: number; job: InsertJob }[] = [];
	const opened: { close(): Promise<void> }[] = [];
	const open = (load: BegunLoad) => openJob(deps, database, load, opened, signal);
	await Promise.all(
		loads.map(async (load, at) => {
			try {
				const settled = await settledBefore(deps, database, load, signal);
				if (settled !== null) outcomes[at] = { receipt: settled };
				else jobs.push({ at, job: await open(load) });
			} catch (error) {
				outcomes[at] = { error };
			}
		}),
	);
	jobs.sort((a, b) => a.at - b.at);
	try {
		if (jobs.length > 0) {
			const inserted = await database.insert(
				jobs.map(({ job }) => job),
				(index) => open(loads[jobs[index]!.at]!),
			);
			for (const [index, outcome] of inserted.entries()) outcomes[jobs[index]!.at] = outcome;
		}
		return outcomes;
	} finally {
		await Promise.all(opened.map((one) => one.close()));
	}
}

/** What needs no bytes: a repeat of a key, and a load that killed its loader. */
async function settledBefore(
	deps: ReplayDeps,
	database: SinkDatabase,
	load: BegunLoad,
	signal: AbortSignal,
): Promise<Receipt | null> {
	const { manifest, deaths } = load;
	if (manifest.same_content_as !== undefined) {
		return compareContent(deps, manifest, manifest.same_content_as, signal);
	}
	const isDrop = manifest.source.kind === "drop";
	if (deaths < maxDeaths && !isDrop) return null;
	// A file of drop/ may be another by now, and its load committed all the same.
	const committed = await database.findLoad(manifest.upload_id);
	if (committed !== null) return committed;
	if (deaths < maxDeaths) {
		await assertNewest(deps, database, manifest);
		return null;
	}
	throw new IngestError(
		"internal",
		`the loader died ${deaths} times while it had this load open; nothing of it was committed`,
		{ extra: { explained: true } },
	);
}

async function openJob(
	deps: ReplayDeps,
	database: SinkDatabase,
	load: BegunLoad,
	/** Gets what is opened here. */
	opened: { close(): Promise<void> }[],
	signal: AbortSignal,
): Promise<InsertJob> {
	const { manifest, lease } = load;
	const both = AbortSignal.any([signal, lease.signal]);
	const source = openStaged(deps, manifest);
	opened.push(source);
	const reader = await deps.openReader(source, manifest, both);
	if ("path" in reader) opened.push(reader);
	return {
		loadId: manifest.upload_id,
		first: load.attempt === 1 && load.deaths === 0 && lease.generation === 1,
		parameters: manifest,
		reader,
		...(manifest.content_encoding === "identity" ? { bytes: load.size } : {}),
		signal: both,
		async beforeCommit(counts) {
			assertCounts(manifest, counts);
			await source.verifyRest(both);
			await assertNewest(deps, database, manifest);
			await lease.assertOwned();
		},
		receipt: (result: InsertResult, counts: StreamedCounts) =>
			loadReceipt(manifest, result, counts, {
				attempts: load.attempt + load.deaths,
				startedAt: load.startedAt,
				endedAt: deps.clock.now(),
			}),
	};
}

/** The receipt is durable before the outcome is `done`. */
export async function finishLoad(
	deps: ReplayDeps,
	database: SinkDatabase | undefined,
	load: BegunLoad,
	outcome: InsertOutcome,
	signal: AbortSignal,
): Promise<ReplayOutcome> {
	const { manifest } = load;
	const { tenant, upload_id: id } = manifest;
	const log = deps.log.with({ tenant, load_id: id, request_id: manifest.request_id });
	try {
		if ("receipt" in outcome) {
			const { receipt } = outcome;
			// Whoever reads the receipt finds the table too, with the rows of this load.
			const changed = receipt.status === "committed" && receipt.load_id === id;
			if (changed) await deps.tables?.touch(tenant, manifest.table);
			await deps.receipts.write(receipt, id);
			log.info("loaded", {
				status: receipt.status,
				table: receipt.table,
				rows: receipt.rows_inserted,
				bytes: receipt.bytes,
				duration_ms: receipt.duration_ms,
			});
			if (receipt.status === "dry_run") await removeParts(deps.store, tenant, id);
			return done;
		}
		// We were told to stop: whoever comes next begins anew.
		if (signal.aborted) return { kind: "again", delayMs: 0, sameAttempt: true };
		const lost = load.lease.signal.aborted ? load.lease.signal.reason : outcome.error;
		const error = asIngestError(lost);
		const again = whenAgain(deps, load, error);
		log.warn(again === null ? "a load failed" : "a load is tried again", {
			code: error.code,
			error: error.message,
			cause: error.cause instanceof Error ? error.cause.message : undefined,
			attempt: load.attempt,
			table: formatTableName(manifest.table),
		});
		if (again !== null) return again;
		// It may have been committed by a loader that died before the receipt, and only fail now.
		const committed = await database?.findLoad(id);
		if (committed) return await finishLoad(deps, database, load, { receipt: committed }, signal);
		const problem = problemOf(error, { instance: `/v1/loads/${id}`, load_id: id });
		if (error.extra.explained === true) {
			problem.detail = error.message;
			delete problem.explained;
		}
		const { startedAt } = load;
		const attempts = load.attempt + load.deaths;
		const endedAt = deps.clock.now();
		await deps.receipts.write(failedReceipt(manifest, { problem, startedAt, endedAt, attempts }));
		if (manifest.dry_run) await removeParts(deps.store, tenant, id);
		return done;
	} catch (error) {
		// Committed or failed, it has no receipt yet: the next delivery finds the ledger's row and writes it.
		log.error("a receipt could not be written", { error: asIngestError(error).message });
		return { kind: "again", delayMs: pauseMs(load.attempt + 2), sameAttempt: true };
	}
}

/** A target that was waited for already isn't waited for again: that is what its time limit is for. */
const longAttemptMs = 30_000;

function whenAgain(deps: ReplayDeps, load: BegunLoad, error: IngestError): ReplayOutcome | null {
	const verdict = verdicts[error.code];
	if (verdict === "later") {
		const delayMs = (error.retryAfterSeconds ?? 1) * 1000;
		return { kind: "again", delayMs, sameAttempt: true };
	}
	if (verdict === "never" || load.deaths >= maxDeaths) return null;
	if (load.attempt >= maxAttemptsOf(error.code)) return null;
	const tookMs = deps.clock.now() - load.startedAt;
	if (error.code === "target_unavailable" && tookMs >= longAttemptMs) return null;
	return { kind: "again", delayMs: pauseMs(load.attempt), sameAttempt: false };
}
