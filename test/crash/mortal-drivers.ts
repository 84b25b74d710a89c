/** Store, sink and queue that tell the killer where the flow is, before and after every call. */
import type { BatchReader } from "../../src/arrow/batch-reader.ts";
import type { BatchSink, InsertJob } from "../../src/insert/batch-sink.ts";
import type { ObjectStore } from "../../src/stage/object-store.ts";
import type { ReplayQueue } from "../../src/trigger/replay-queue.ts";
import type { Killer } from "./killer.ts";

/** What an object is, by its key. */
export function kindOf(key: string): string {
	if (key.startsWith("uploads/")) {
		const [, , , name = "", ...rest] = key.split("/");
		return rest.length > 0 || name === "parts" || name === "sums" || name === "lease"
			? name
			: name.replace(".json", "");
	}
	return { loads: "receipt", idempotency: "claim" }[key.split("/")[0]!] ?? key.split("/")[0]!;
}

export function mortalStore(store: ObjectStore, killer: Killer): ObjectStore {
	const around = async <T>(call: string, key: string, run: () => Promise<T>): Promise<T> => {
		const name = `store.${call} ${kindOf(key)}`;
		killer.point(`${name} before`);
		const result = await run();
		killer.point(`${name} after`);
		return result;
	};
	return {
		description: store.description,
		put: (key, body, options) => around("put", key, () => store.put(key, body, options)),
		get: (key, options) => around("get", key, () => store.get(key, options)),
		head: (key) => around("head", key, () => store.head(key)),
		delete: (key) => around("delete", key, () => store.delete(key)),
		async *list(prefix, options) {
			killer.point(`store.list ${kindOf(prefix)} before`);
			yield* store.list(prefix, options);
			killer.point(`store.list ${kindOf(prefix)} after`);
		},
	};
}

/** A load is open in the loader from its delivery's begin to the end of its lease. */
export function mortalQueue(queue: ReplayQueue, killer: Killer): ReplayQueue {
	return {
		send: (job) => queue.send(job),
		async *receive(signal) {
			for await (const delivery of queue.receive(signal)) {
				killer.open(1);
				killer.point("queue.receive after");
				// The lease goes after the acknowledgement: the load stays open a little longer.
				const ended = () => setTimeout(() => killer.open(-1), 100);
				yield {
					...delivery,
					opened() {
						killer.point("queue.opened before");
						delivery.opened?.();
						killer.point("queue.opened after");
					},
					async ack() {
						killer.point("queue.ack before");
						await delivery.ack();
						killer.point("queue.ack after");
						ended();
					},
					async retry(delayMs, options) {
						killer.point("queue.retry before");
						await delivery.retry(delayMs, options);
						killer.point("queue.retry after");
						ended();
					},
				};
			}
		},
	};
}

export function mortalSink(sink: BatchSink, killer: Killer): BatchSink {
	return {
		async open(tenant, signal) {
			killer.point("sink.open before");
			const database = await sink.open(tenant, signal);
			killer.point("sink.open after");
			return {
				...database,
				async insert(jobs, again) {
					killer.point("sink.insert before");
					const outcomes = await database.insert(
						jobs.map((job) => mortalJob(job, killer)),
						async (index) => {
							killer.point("sink.insert again");
							return mortalJob(await again(index), killer);
						},
					);
					killer.point("sink.insert after COMMIT");
					return outcomes;
				},
				async describeTable(schema, table) {
					killer.point("sink.describeTable before");
					return database.describeTable(schema, table);
				},
				async close() {
					killer.point("sink.close before");
					await database.close();
				},
			};
		},
		async openParquet(file, signal) {
			killer.point("sink.openParquet before");
			const reader = await sink.openParquet(file, signal);
			killer.point("sink.openParquet after");
			return reader;
		},
		close: () => sink.close(),
	};
}

function mortalJob(job: InsertJob, killer: Killer): InsertJob {
	// Only loads that began while their upload arrives give way to others.
	const sink = job.othersWait === undefined ? "sink" : "early sink";
	return {
		...job,
		reader: "path" in job.reader ? job.reader : mortalReader(job.reader, sink, killer),
		async beforeCommit(counts) {
			killer.point(`${sink}.beforeCommit before`);
			await job.beforeCommit(counts);
			killer.point(`${sink}.beforeCommit after`);
		},
		receipt(result, counts) {
			killer.point(`${sink}.receipt before the ledger row`);
			const receipt = job.receipt(result, counts);
			// COMMIT is somewhere in the next milliseconds, on DuckDB's own threads.
			if (Math.random() < 0.5) {
				setTimeout(() => killer.point(`${sink}.COMMIT around`), Math.random() * 8);
			}
			return receipt;
		},
	};
}

/** A load whose batches are read is open, with its delivery or before it. */
function mortalReader(reader: BatchReader, sink: string, killer: Killer): BatchReader {
	return {
		sentFields: reader.sentFields,
		engineFields: reader.engineFields,
		async *batches(signal) {
			killer.open(1);
			try {
				killer.point(`${sink}.insert before the first batch`);
				for await (const batch of reader.batches(signal)) {
					yield batch;
					killer.point(`${sink}.insert after a batch`);
				}
				killer.point(`${sink}.insert after the last batch`);
			} finally {
				killer.open(-1);
			}
		},
		counts: () => reader.counts(),
		warnings: () => reader.warnings(),
	};
}
