/** Staging in memory, loads through the real sink into a file: the replay loop in this process. */
import { createHash } from "node:crypto";
import { systemClock } from "../../src/clock.ts";
import type { Receipt } from "../../src/flow.ts";
import { defaultLimits } from "../../src/limits.ts";
import { silentLog } from "../../src/log.ts";
import {
	createStoreReceiptBook,
	type WakingReceiptBook,
} from "../../src/receipt/store-receipt-book.ts";
import { nodeCodecs } from "../../src/replay/node-codecs.ts";
import { createStagedReader } from "../../src/replay/open-reader.ts";
import { createParquetCopies } from "../../src/replay/parquet-copies.ts";
import { takeParquet } from "../../src/replay/parquet-drops.ts";
import { type LoopOptions, runReplayLoop } from "../../src/replay/replay-loop.ts";
import type { ReplayDeps } from "../../src/replay/replay-one.ts";
import {
	type CompleteDeps,
	completeStaged,
	completeUpload,
} from "../../src/stage/complete-upload.ts";
import { createIdMaker } from "../../src/stage/new-id.ts";
import type { ObjectStore } from "../../src/stage/object-store.ts";
import { putPart } from "../../src/stage/put-part.ts";
import { stageBody } from "../../src/stage/stage-body.ts";
import { createUpload, type NewUpload } from "../../src/stage/stage-upload.ts";
import { createMemoryStore } from "../../src/stage/stores/memory-store.ts";
import { createMemoryQueue, type MemoryQueue } from "../../src/trigger/queues/memory-queue.ts";
import { uploadOf } from "../unit/stage/stage-world.ts";
import { SinkFixture } from "./sink-fixture.ts";

export class ReplayWorld {
	readonly fixture = new SinkFixture();
	/** Of Parquet files under `drop/`. */
	readonly copies = createParquetCopies(this.fixture.folder, nodeCodecs.createSha256);
	readonly store: ObjectStore;
	readonly queue: MemoryQueue;
	readonly receipts: WakingReceiptBook;
	readonly complete: CompleteDeps;
	readonly deps: ReplayDeps;
	#stop = new AbortController();
	#loop: Promise<void> | null = null;

	constructor(around: (store: ObjectStore) => ObjectStore = (store) => store) {
		const clock = systemClock;
		this.store = around(createMemoryStore());
		this.queue = createMemoryQueue({ clock, capacity: 1_000 });
		this.receipts = createStoreReceiptBook({ store: this.store, clock });
		const shared = {
			store: this.store,
			clock,
			log: silentLog,
			receipts: this.receipts,
			newId: createIdMaker(clock),
		};
		this.complete = {
			...shared,
			limits: { ...defaultLimits, partBytes: 4_096 },
			queue: this.queue,
			createSha256() {
				const hash = createHash("sha256");
				return { update: (bytes) => void hash.update(bytes), digestHex: () => hash.digest("hex") };
			},
		};
		this.fixture.options.parquetFolder = this.copies.folder;
		const sink = this.fixture.sink();
		const reader = createStagedReader(defaultLimits);
		this.deps = {
			...shared,
			sink,
			createSha256: nodeCodecs.createSha256,
			...reader,
			...takeParquet(reader, { copies: this.copies, sink, limits: defaultLimits }),
		};
	}

	start(options: LoopOptions = {}, deps: Partial<ReplayDeps> = {}): void {
		this.#stop = new AbortController();
		this.#loop = runReplayLoop({ ...this.deps, ...deps }, this.queue, this.#stop.signal, options);
	}

	async stop(): Promise<void> {
		this.#stop.abort();
		await this.#loop;
		this.#loop = null;
	}

	async end(): Promise<void> {
		await this.stop();
		await this.fixture.close();
	}

	/** Staged and completed as `POST /v1/ingest` does; its id. */
	async ingest(bytes: Uint8Array, fields: Partial<NewUpload> = {}, more = {}): Promise<string> {
		const body = new Response(bytes as Uint8Array<ArrayBuffer>).body!;
		const mode = fields.mode ?? "create_append";
		const staged = await stageBody(this.complete, uploadOf({ ...fields, mode }), body);
		const completion = await completeStaged(this.complete, staged, more);
		return completion.kind === "started" ? completion.loadId : completion.receipt.load_id;
	}

	/** In parts of the caller's own cut; its id. */
	async upload(parts: Uint8Array[], fields: Partial<NewUpload> = {}, more = {}): Promise<string> {
		const mode = fields.mode ?? "create_append";
		const { upload_id: id } = await createUpload(this.complete, uploadOf({ ...fields, mode }));
		for (const [at, bytes] of parts.entries()) {
			const body = new Response(bytes as Uint8Array<ArrayBuffer>).body!;
			await putPart(this.complete, "acme", id, at + 1, body);
		}
		const answer = await completeUpload(this.complete, "acme", id, {
			parts: parts.length,
			...more,
		});
		return answer.kind === "started" ? answer.loadId : answer.receipt.load_id;
	}

	async receipt(id: string, ms = 20_000): Promise<Receipt> {
		const receipt = await this.receipts.waitFor("acme", id, AbortSignal.timeout(ms));
		if (receipt === null) throw new Error(`no receipt of ${id} in ${ms} ms`);
		return receipt;
	}

	async keys(prefix: string): Promise<string[]> {
		const keys: string[] = [];
		for await (const { key } of this.store.list(prefix)) keys.push(key);
		return keys;
	}
}
