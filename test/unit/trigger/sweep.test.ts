import { describe, expect, it } from "vitest";
import { IngestError } from "../../../src/errors.ts";
import { completeStaged, completeUpload } from "../../../src/stage/complete-upload.ts";
import { putPart } from "../../../src/stage/put-part.ts";
import { stageBody } from "../../../src/stage/stage-body.ts";
import { abortUpload, createUpload, readUpload } from "../../../src/stage/stage-upload.ts";
import { sweep } from "../../../src/trigger/sweep.ts";
import { problemOf } from "../../../src/upload/problem-json.ts";
import {
	bodyOf,
	createStageWorld,
	endLoad,
	type StageWorld,
	uploadOf,
} from "../stage/stage-world.ts";

const hour = 3_600_000;

async function load(world: StageWorld, fields = {}): Promise<string> {
	const staged = await stageBody(world, uploadOf(fields), bodyOf("data"));
	await completeStaged(world, staged);
	world.sent.length = 0;
	return staged.upload.upload_id;
}

const run = (world: StageWorld, options = {}) =>
	sweep({ ...world, send: world.queue.send, ...options }, new AbortController().signal);

describe("the sweep", () => {
	it("sends again the load whose notice was lost, and not one whose notice is on its way", async () => {
		const world = createStageWorld();
		const id = await load(world);
		expect(await run(world)).toMatchObject({ sent: 0, removed: [] });
		await world.clock.pass(61_000);
		expect(await run(world)).toMatchObject({ sent: 1, removed: [] });
		expect(world.sent).toEqual([{ tenant: "acme", upload_id: id }]);
		expect(await run(world, { send: null })).toMatchObject({ sent: 0 });
	});

	it("lets an unfinished upload expire after its time: its bytes go, late parts are refused", async () => {
		const world = createStageWorld();
		const { upload_id: id } = await createUpload(world, uploadOf());
		await putPart(world, "acme", id, 1, bodyOf("x"));
		await world.clock.pass(24 * hour);
		expect((await run(world)).removed).toEqual([]);
		await world.clock.pass(1 * hour);
		expect((await run(world)).removed).toHaveLength(2);
		expect(await world.keys(`uploads/acme/${id}/parts/`)).toEqual([]);
		expect((await readUpload(world, "acme", id)).state).toBe("expired");
		await expect(putPart(world, "acme", id, 1, bodyOf("x"))).rejects.toMatchObject({
			code: "upload_expired",
		});
		await world.clock.pass(26 * hour);
		await run(world);
		expect(await world.keys()).toEqual([]);
	});

	it("removes what a dead request left without a request, by the bytes' own age", async () => {
		const world = createStageWorld();
		const { upload_id: id } = await createUpload(world, uploadOf());
		await putPart(world, "acme", id, 1, bodyOf("x"));
		await world.store.delete(`uploads/acme/${id}/upload.json`);
		expect((await run(world)).removed).toEqual([]);
		await world.clock.pass(26 * hour);
		await run(world);
		expect(await world.keys(`uploads/acme/${id}/parts/`)).toEqual([]);
	});

	it("removes a committed load's staging an hour after its receipt, and never the receipt", async () => {
		const world = createStageWorld();
		const id = await load(world);
		await world.clock.pass(40 * 24 * hour);
		await endLoad(world, id, { status: "committed" });
		await world.clock.pass(hour - 1);
		expect((await run(world)).removed).toEqual([]);
		await world.clock.pass(1);
		expect((await run(world)).removed).toEqual([`uploads/acme/${id}/parts/00001`]);
		expect(await completeUpload(world, "acme", id, { parts: 1 })).toMatchObject({ loadId: id });
		await world.clock.pass(23 * hour);
		const { removed } = await run(world);
		expect(removed.at(-1)).toBe(`uploads/acme/${id}/upload.json`);
		expect(await world.keys("uploads/")).toEqual([]);
		expect((await world.receipts.read("acme", id))?.status).toBe("committed");
	});

	it("removes a dry run's bytes at once, and what its completion is answered from after the upload's time", async () => {
		const world = createStageWorld();
		const id = await load(world, { dry_run: true });
		await endLoad(world, id, { status: "dry_run" });
		expect((await run(world)).removed).toEqual([`uploads/acme/${id}/parts/00001`]);
		expect(await completeUpload(world, "acme", id, { parts: 1 })).toMatchObject({ loadId: id });
		await world.clock.pass(24 * hour);
		await run(world);
		expect(await world.keys("uploads/")).toEqual([]);
	});

	it("keeps a failed load's bytes for 30 days", async () => {
		const world = createStageWorld();
		const id = await load(world);
		const error = problemOf(new IngestError("cast_failed", "no"));
		await endLoad(world, id, { status: "failed", error });
		await world.clock.pass(30 * 24 * hour - 1);
		expect((await run(world)).removed).toEqual([]);
		await world.clock.pass(1);
		await run(world);
		expect(await world.keys("uploads/")).toEqual([]);
	});

	it("never removes a load without a final receipt, however old", async () => {
		const world = createStageWorld();
		const id = await load(world);
		await world.clock.pass(365 * 24 * hour);
		expect((await run(world)).removed).toEqual([]);
		expect(await world.keys(`uploads/acme/${id}/parts/`)).toHaveLength(1);
	});

	it("keeps the tombstone of an aborted upload for the upload's time", async () => {
		const world = createStageWorld();
		const { upload_id: id } = await createUpload(world, uploadOf());
		await abortUpload(world, "acme", id);
		await world.clock.pass(24 * hour);
		await run(world);
		expect((await readUpload(world, "acme", id)).state).toBe("aborted");
		await world.clock.pass(2 * hour);
		await run(world);
		expect(await world.keys()).toEqual([]);
	});

	it("goes on past an upload that it can't read", async () => {
		const world = createStageWorld();
		const bad = await load(world);
		const good = await load(world);
		await world.store.put(`uploads/acme/${bad}/manifest.json`, new TextEncoder().encode("{"));
		await world.clock.pass(61_000);
		expect(await run(world)).toMatchObject({ uploads: 2, sent: 1 });
		expect(world.sent).toEqual([{ tenant: "acme", upload_id: good }]);
	});

	it("leaves alone what is not of its layout", async () => {
		const world = createStageWorld();
		for (const key of [
			"uploads/Evil/x/manifest.json",
			"uploads/acme/no-id/parts/00001",
			"uploads/x",
		]) {
			await world.store.put(key, new Uint8Array(1));
		}
		await world.clock.pass(365 * 24 * hour);
		expect(await run(world)).toMatchObject({ removed: [], sent: 0, uploads: 0 });
	});
});
