/** Everything that staging needs, in memory, on a clock that the test moves. */
import { createHash } from "node:crypto";
import type { Receipt, ReplayJob } from "../../../src/flow.ts";
import { defaultLimits, type Limits } from "../../../src/limits.ts";
import { silentLog } from "../../../src/log.ts";
import {
	createStoreReceiptBook,
	type WakingReceiptBook,
} from "../../../src/receipt/store-receipt-book.ts";
import type { CompleteDeps } from "../../../src/stage/complete-upload.ts";
import { createIdMaker } from "../../../src/stage/new-id.ts";
import type { NewUpload } from "../../../src/stage/stage-upload.ts";
import { createMemoryStore } from "../../../src/stage/stores/memory-store.ts";
import { createFakeClock, type FakeClock } from "../fake-clock.ts";

export interface StageWorld extends CompleteDeps {
	clock: FakeClock;
	receipts: WakingReceiptBook;
	/** Jobs that were sent. */
	sent: ReplayJob[];
	keys(prefix?: string): Promise<string[]>;
}

export function createStageWorld(limits: Partial<Limits> = {}): StageWorld {
	const clock = createFakeClock();
	const store = createMemoryStore({ now: clock.now });
	const sent: ReplayJob[] = [];
	return {
		store,
		clock,
		log: silentLog,
		limits: { ...defaultLimits, ...limits },
		newId: createIdMaker(clock),
		createSha256() {
			const hash = createHash("sha256");
			return { update: (bytes) => void hash.update(bytes), digestHex: () => hash.digest("hex") };
		},
		receipts: createStoreReceiptBook({ store, clock }),
		queue: { send: async (job) => void sent.push(job) },
		sent,
		async keys(prefix = "") {
			const keys: string[] = [];
			for await (const { key } of store.list(prefix)) keys.push(key);
			return keys;
		},
	};
}

export function uploadOf(fields: Partial<NewUpload> = {}): NewUpload {
	return {
		table: { schema: "main", table: "events" },
		mode: "append",
		on_extra_columns: "error",
		dry_run: false,
		require_eos: false,
		rows: null,
		idempotency_key: null,
		tenant: "acme",
		key_id: null,
		rights: ["append"],
		source: { kind: "http" },
		content_encoding: "identity",
		request_id: "r1",
		traceparent: null,
		...fields,
	};
}

export const bytesOf = (text: string) => new TextEncoder().encode(text);
export const sha256Of = (bytes: Uint8Array | string) =>
	createHash("sha256").update(bytes).digest("hex");

/** A body in these pieces; an error among them breaks it off. */
export function bodyOf(...pieces: (string | Uint8Array | Error)[]): ReadableStream<Uint8Array> {
	let at = 0;
	return new ReadableStream(
		{
			pull(controller) {
				const piece = pieces[at++];
				if (piece === undefined) controller.close();
				else if (piece instanceof Error) controller.error(piece);
				else controller.enqueue(typeof piece === "string" ? bytesOf(piece) : piece);
			},
		},
		{ highWaterMark: 0 },
	);
}

export async function textOf(world: StageWorld, key: string): Promise<string> {
	const object = await world.store.get(key);
	if (object === null) throw new Error(`no object ${key}`);
	return new Response(object.body as ReadableStream<Uint8Array<ArrayBuffer>>).text();
}

/** A final receipt as the loader would write it. */
export async function endLoad(
	world: StageWorld,
	id: string,
	end: Partial<Receipt> & { status: Receipt["status"] },
): Promise<Receipt> {
	const pending = await world.receipts.read("acme", id);
	if (pending === null) throw new Error(`no load ${id}`);
	const now = new Date(world.clock.now()).toISOString();
	const receipt: Receipt = {
		...pending,
		started_at: now,
		committed_at: end.status === "committed" ? now : null,
		...end,
	};
	await world.receipts.write(receipt);
	return receipt;
}
