import { describe, expect, it } from "vitest";
import { IngestError } from "../../../src/errors.ts";
import type { Receipt } from "../../../src/flow.ts";
import { createStoreReceiptBook } from "../../../src/receipt/store-receipt-book.ts";
import { takeLease } from "../../../src/replay/lease.ts";
import { completeStaged } from "../../../src/stage/complete-upload.ts";
import { stageBody } from "../../../src/stage/stage-body.ts";
import { problemOf } from "../../../src/upload/problem-json.ts";
import { settle } from "../fake-clock.ts";
import {
	bodyOf,
	createStageWorld,
	endLoad,
	type StageWorld,
	uploadOf,
} from "../stage/stage-world.ts";

async function load(world: StageWorld, fields = {}): Promise<string> {
	const staged = await stageBody(world, uploadOf(fields), bodyOf("data"));
	await completeStaged(world, staged);
	await world.clock.pass(10);
	return staged.upload.upload_id;
}

const failed = {
	status: "failed",
	error: problemOf(new IngestError("cast_failed", "no")),
} as const;

describe("the receipt book", () => {
	it("shows a load as staged, loading and committed", async () => {
		const world = createStageWorld();
		const id = await load(world);
		const status = async () => (await world.receipts.read("acme", id))?.status;
		expect(await status()).toBe("staged");
		const lease = await takeLease(world, "acme", id);
		expect(await status()).toBe("loading");
		await lease.release();
		expect(await status()).toBe("staged");
		await endLoad(world, id, { status: "committed" });
		expect(await status()).toBe("committed");
	});

	it("has nothing of another tenant, of an open upload, and of what is no id", async () => {
		const world = createStageWorld();
		const id = await load(world);
		await endLoad(world, id, { status: "committed" });
		expect(await world.receipts.read("other", id)).toBeNull();
		expect(await world.receipts.read("acme", "../../keys/x")).toBeNull();
		const open = await stageBody(world, uploadOf(), bodyOf("x"));
		expect(await world.receipts.read("acme", open.upload.upload_id)).toBeNull();
	});

	it("never replaces a committed receipt, whoever comes last", async () => {
		const world = createStageWorld();
		const id = await load(world);
		const committed = await endLoad(world, id, { status: "committed" });
		await world.receipts.write({ ...committed, ...failed } as Receipt);
		expect((await world.receipts.read("acme", id))?.status).toBe("committed");

		const other = await load(world);
		const receipt = await endLoad(world, other, failed);
		const { error: _, ...rest } = receipt;
		await Promise.all([
			world.receipts.write({ ...rest, status: "committed" }),
			world.receipts.write(receipt),
			world.receipts.write(receipt),
		]);
		expect((await world.receipts.read("acme", other))?.status).toBe("committed");
	});

	it("reopens a failed load once, and no other", async () => {
		const world = createStageWorld();
		const id = await load(world);
		expect(await world.receipts.reopen("acme", id)).toBe(false);
		await endLoad(world, id, failed);
		const reopened = await Promise.all([1, 2, 3].map(() => world.receipts.reopen("acme", id)));
		expect(reopened.filter(Boolean)).toHaveLength(1);
		expect((await world.receipts.read("acme", id))?.status).toBe("staged");
		await endLoad(world, id, { status: "committed" });
		expect(await world.receipts.reopen("acme", id)).toBe(false);
	});

	it("lists loads newest first, in pages, by table and by status", async () => {
		const world = createStageWorld();
		const ids: string[] = [];
		for (let n = 0; n < 45; n++) {
			const table = { schema: "main", table: n % 3 === 0 ? "A" : "b" };
			const id = await load(world, { table });
			await endLoad(world, id, n % 5 === 0 ? failed : { status: "committed" });
			ids.unshift(id);
		}
		const pages: string[][] = [];
		let cursor: string | null = null;
		do {
			const page = await world.receipts.history("acme", {
				limit: 20,
				...(cursor === null ? {} : { cursor }),
			});
			pages.push(page.receipts.map((receipt: Receipt) => receipt.load_id));
			cursor = page.cursor;
		} while (cursor !== null);
		expect(pages.flat()).toEqual(ids);
		const byTable = await world.receipts.history("acme", { table: "main.a", limit: 100 });
		expect(byTable.receipts).toHaveLength(15);
		expect(byTable.cursor).toBeNull();
		const both = await world.receipts.history("acme", {
			table: "main.b",
			status: "failed",
			limit: 4,
		});
		expect(both.receipts.map(({ table, status }) => [table, status])).toEqual(
			Array(4).fill(["main.b", "failed"]),
		);
		expect((await world.receipts.history("other", { limit: 10 })).receipts).toEqual([]);
	});
});

describe("who waits for a receipt", () => {
	it("is woken when it is written in this process", async () => {
		const world = createStageWorld();
		const id = await load(world);
		const waiting = [1, 2].map(() =>
			world.receipts.waitFor("acme", id, new AbortController().signal),
		);
		await settle();
		await endLoad(world, id, { status: "committed" });
		const receipts = await Promise.all(waiting);
		expect(receipts.map((receipt) => receipt?.status)).toEqual(["committed", "committed"]);
	});

	it("finds it by looking when another process wrote it", async () => {
		const world = createStageWorld();
		const id = await load(world);
		const waiting = world.receipts.waitFor("acme", id, new AbortController().signal);
		await settle();
		const other = createStoreReceiptBook(world);
		await other.write({ ...(await other.read("acme", id))!, status: "committed" });
		await world.clock.pass(3_000);
		expect((await waiting)?.status).toBe("committed");
	});

	it("gets null when its time is over, and leaves nothing behind", async () => {
		const world = createStageWorld();
		const id = await load(world);
		const stop = new AbortController();
		const waiting = world.receipts.waitFor("acme", id, stop.signal);
		await world.clock.pass(10_000);
		stop.abort();
		expect(await waiting).toBeNull();
		expect(world.clock.sleepers()).toBe(0);
	});
});
