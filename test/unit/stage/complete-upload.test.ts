import { describe, expect, it } from "vitest";
import { IngestError } from "../../../src/errors.ts";
import type { Manifest } from "../../../src/flow.ts";
import { claimOf } from "../../../src/stage/claim-key.ts";
import { assertRoom, completeStaged, completeUpload } from "../../../src/stage/complete-upload.ts";
import { putJson } from "../../../src/stage/json-object.ts";
import { idempotencyKey } from "../../../src/stage/object-keys.ts";
import { putPart } from "../../../src/stage/put-part.ts";
import { requestReplay } from "../../../src/stage/request-replay.ts";
import { stageBody } from "../../../src/stage/stage-body.ts";
import {
	abortUpload,
	createUpload,
	type NewUpload,
	readManifest,
	readUpload,
} from "../../../src/stage/stage-upload.ts";
import { problemOf } from "../../../src/upload/problem-json.ts";
import {
	bodyOf,
	createStageWorld,
	endLoad,
	type StageWorld,
	sha256Of,
	uploadOf,
} from "./stage-world.ts";

async function upload(world: StageWorld, parts: string[], fields: Partial<NewUpload> = {}) {
	const { upload_id: id } = await createUpload(world, uploadOf(fields));
	for (const [at, text] of parts.entries()) {
		await putPart(world, "acme", id, at + 1, bodyOf(text));
	}
	return id;
}

/** As `POST /v1/ingest`. */
async function ingest(world: StageWorld, text: string, fields: Partial<NewUpload> = {}) {
	return completeStaged(world, await stageBody(world, uploadOf(fields), bodyOf(text)));
}

const digestOf = (text: string) =>
	`sha-256=:${Buffer.from(sha256Of(text), "hex").toString("base64")}:`;
const failedWith = (code: "cast_failed" | "store_unavailable") =>
	({ status: "failed", error: problemOf(new IngestError(code, "why")) }) as const;

describe("completing an upload", () => {
	it("writes the manifest once, sends the job, and answers the same again", async () => {
		const world = createStageWorld();
		const id = await upload(world, ["ab", "c"]);
		const answer = { kind: "started", loadId: id, bytes: 3 };
		expect(await completeUpload(world, "acme", id, { parts: 2, rows: 7 })).toEqual(answer);
		// Nothing more was staged for it.
		expect(await completeUpload(world, "acme", id, { parts: 2 })).toEqual({ ...answer, bytes: 0 });
		expect(world.sent).toEqual([{ tenant: "acme", upload_id: id }]);
		const manifest = (await readManifest(world.store, "acme", id)) as Manifest;
		expect(manifest.rows).toBe(7);
		expect(manifest.parts.map(({ n, size, sha256 }) => [n, size, sha256])).toEqual([
			[1, 2, sha256Of("ab")],
			[2, 1, sha256Of("c")],
		]);
		for (const { key, etag } of manifest.parts) {
			expect((await world.store.head(key))?.etag).toBe(etag);
		}
		expect((await world.receipts.read("acme", id))?.status).toBe("staged");
	});

	it("with another N afterwards is refused", async () => {
		const world = createStageWorld();
		const id = await upload(world, ["ab", "c"]);
		await completeUpload(world, "acme", id, { parts: 2 });
		await expect(completeUpload(world, "acme", id, { parts: 1 })).rejects.toMatchObject({
			code: "upload_completed",
		});
		await expect(abortUpload(world, "acme", id)).rejects.toMatchObject({
			code: "upload_completed",
		});
	});

	it("lists missing parts and leaves the upload open", async () => {
		const world = createStageWorld();
		const id = await upload(world, ["a"]);
		await putPart(world, "acme", id, 3, bodyOf("c"));
		await expect(completeUpload(world, "acme", id, { parts: 4 })).rejects.toMatchObject({
			code: "missing_parts",
			extra: { parts: [2, 4] },
		});
		await putPart(world, "acme", id, 2, bodyOf("b"));
		expect(await completeUpload(world, "acme", id, { parts: 3 })).toMatchObject({
			kind: "started",
		});
	});

	it("lists parts beyond N, also for N = 0, and leaves the upload open", async () => {
		const world = createStageWorld();
		const id = await upload(world, ["a", "b", "c"]);
		await expect(completeUpload(world, "acme", id, { parts: 1 })).rejects.toMatchObject({
			code: "bad_request",
			extra: { parts: [2, 3] },
		});
		await expect(completeUpload(world, "acme", id, { parts: 0 })).rejects.toMatchObject({
			code: "bad_request",
			extra: { parts: [1, 2, 3] },
		});
		expect((await readUpload(world, "acme", id)).state).toBe("open");
	});

	it("at one moment by ten callers is one load", async () => {
		const world = createStageWorld();
		const id = await upload(world, ["a"], { idempotency_key: "k" });
		const answers = await Promise.all(
			Array.from({ length: 10 }, () => completeUpload(world, "acme", id, { parts: 1 })),
		);
		for (const answer of answers) expect(answer).toMatchObject({ kind: "started", loadId: id });
		const staged = answers.filter((answer) => answer.kind === "started" && answer.bytes > 0);
		expect(staged).toHaveLength(1);
		expect(world.sent).toHaveLength(1);
	});

	it("at one moment with an abort ends as one of the two and never as both", async () => {
		for (let round = 0; round < 20; round++) {
			const world = createStageWorld();
			const id = await upload(world, ["a"]);
			const [completed, aborted] = await Promise.allSettled([
				completeUpload(world, "acme", id, { parts: 1 }),
				abortUpload(world, "acme", id),
			]);
			expect([completed.status, aborted.status].sort()).toEqual(["fulfilled", "rejected"]);
			const bytes = await world.keys(`uploads/acme/${id}/parts/`);
			expect(bytes).toHaveLength(completed.status === "fulfilled" ? 1 : 0);
		}
	});

	it("when the queue is full says busy before a body is read, and loses nothing after", async () => {
		const world = createStageWorld();
		const full = {
			...world,
			queue: { ...world.queue, room: () => ({ free: 0, retryAfterSeconds: 7 }) },
		};
		expect(() => assertRoom(full)).toThrow(
			expect.objectContaining({ code: "busy", retryAfterSeconds: 7 }),
		);
		const id = await upload(world, ["a"]);
		await expect(completeUpload(full, "acme", id, { parts: 1 })).rejects.toMatchObject({
			code: "busy",
		});
		expect((await readUpload(world, "acme", id)).state).toBe("open");
		const deaf = { ...world, queue: { send: () => Promise.reject(new Error("down")) } };
		expect(await completeUpload(deaf, "acme", id, { parts: 1 })).toMatchObject({ loadId: id });
		expect((await world.receipts.read("acme", id))?.status).toBe("staged");
	});
});

describe("an Idempotency-Key", () => {
	const key = { idempotency_key: "order-7" };

	it("names the first load: a repeat gets its receipt, and its own bytes go", async () => {
		const world = createStageWorld();
		const first = await ingest(world, "data", key);
		const receipt = await endLoad(world, (first as { loadId: string }).loadId, {
			status: "committed",
			repr_digest: digestOf("data"),
		});
		for (let at = 0; at < 3; at++) {
			expect(await ingest(world, "data", key)).toEqual({ kind: "repeat", receipt });
		}
		expect((await world.keys("uploads/")).filter((one) => one.includes("/parts/"))).toHaveLength(1);
		expect(world.sent).toHaveLength(1);
	});

	it("is known by its digest when the first load's staging is gone", async () => {
		const world = createStageWorld();
		const first = (await ingest(world, "data", key)) as { loadId: string };
		await endLoad(world, first.loadId, { status: "committed", repr_digest: digestOf("data") });
		for (const one of await world.keys("uploads/")) await world.store.delete(one);
		expect(await ingest(world, "data", key)).toMatchObject({ kind: "repeat" });
		await expect(ingest(world, "datA", key)).rejects.toMatchObject({
			code: "idempotency_key_reused",
		});
	});

	it("of a load that runs answers load_in_progress", async () => {
		const world = createStageWorld();
		await ingest(world, "data", key);
		await expect(ingest(world, "data", key)).rejects.toMatchObject({
			code: "load_in_progress",
		});
	});

	it.each([
		["other bytes", "datA", {}],
		["more bytes", "data and more", {}],
		["another table", "data", { table: { schema: "main", table: "other" } }],
		["another mode", "data", { mode: "replace" as const }],
		["another policy", "data", { on_extra_columns: "add" as const }],
	])("with %s is refused while the first runs and after it ended", async (_, text, fields) => {
		const world = createStageWorld();
		const first = (await ingest(world, "data", key)) as { loadId: string };
		const again = () => ingest(world, text, { ...key, ...fields });
		await expect(again()).rejects.toMatchObject({ code: "idempotency_key_reused" });
		await endLoad(world, first.loadId, { status: "committed", repr_digest: digestOf("data") });
		await expect(again()).rejects.toMatchObject({ code: "idempotency_key_reused" });
		expect(world.sent).toHaveLength(1);
	});

	it("takes the same table in another case for the same", async () => {
		const world = createStageWorld();
		const first = (await ingest(world, "data", key)) as { loadId: string };
		await endLoad(world, first.loadId, { status: "committed" });
		const again = ingest(world, "data", { ...key, table: { schema: "MAIN", table: "Events" } });
		expect(await again).toMatchObject({ kind: "repeat" });
	});

	it("of a load that failed by its data answers the same problem, until replay", async () => {
		const world = createStageWorld();
		const first = (await ingest(world, "data", key)) as { loadId: string };
		const receipt = await endLoad(world, first.loadId, failedWith("cast_failed"));
		expect(await ingest(world, "data", key)).toEqual({ kind: "repeat", receipt });
		expect(await requestReplay(world, "acme", first.loadId)).toBeNull();
		expect(world.sent).toHaveLength(2);
		await expect(ingest(world, "data", key)).rejects.toMatchObject({ code: "load_in_progress" });
	});

	it("of a load that failed by the world's fault runs it again, once for all who ask", async () => {
		const world = createStageWorld();
		const first = (await ingest(world, "data", key)) as { loadId: string };
		await endLoad(world, first.loadId, failedWith("store_unavailable"));
		const answers = await Promise.allSettled([
			ingest(world, "data", key),
			ingest(world, "data", key),
			ingest(world, "data", key),
		]);
		const started = answers.filter(({ status }) => status === "fulfilled");
		expect(started).toMatchObject([{ value: { kind: "started", loadId: first.loadId } }]);
		expect(world.sent).toHaveLength(2);
	});

	it("lets its own upload be completed again after the world's fault, and not after the data's", async () => {
		const world = createStageWorld();
		const id = await upload(world, ["a"], key);
		const complete = () => completeUpload(world, "acme", id, { parts: 1 });
		await complete();
		await endLoad(world, id, failedWith("store_unavailable"));
		expect(await Promise.all([complete(), complete()])).toEqual(
			Array(2).fill({ kind: "started", loadId: id, bytes: 0 }),
		);
		expect(world.sent).toHaveLength(2);
		await endLoad(world, id, failedWith("cast_failed"));
		await complete();
		expect(world.sent).toHaveLength(2);
	});

	it("of a failed load whose bytes are gone is free for another", async () => {
		const world = createStageWorld();
		const first = (await ingest(world, "data", key)) as { loadId: string };
		await endLoad(world, first.loadId, failedWith("store_unavailable"));
		await world.clock.pass(31 * 24 * 3_600_000);
		for (const one of await world.keys("uploads/")) await world.store.delete(one);
		const next = await ingest(world, "other data", key);
		expect(next).toMatchObject({ kind: "started" });
		expect(next).not.toMatchObject({ loadId: first.loadId });
		await expect(ingest(world, "data", key)).rejects.toMatchObject({
			code: "idempotency_key_reused",
		});
	});

	it("is another tenant's own", async () => {
		const world = createStageWorld();
		await ingest(world, "data", key);
		expect(await ingest(world, "other", { ...key, tenant: "beta" })).toMatchObject({
			kind: "started",
		});
	});

	it("isn't used up by a dry run", async () => {
		const world = createStageWorld();
		await ingest(world, "try", { ...key, dry_run: true });
		expect(await ingest(world, "data", key)).toMatchObject({ kind: "started" });
		expect(await ingest(world, "try 2", { ...key, dry_run: true })).toMatchObject({
			kind: "started",
		});
	});

	it("of ten uploads at one moment makes one load", async () => {
		const world = createStageWorld();
		const answers = await Promise.allSettled(
			Array.from({ length: 10 }, () => ingest(world, "data", key)),
		);
		expect(answers.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
		for (const answer of answers) {
			if (answer.status === "rejected") expect(answer.reason.code).toBe("load_in_progress");
		}
		expect(world.sent).toHaveLength(1);
	});

	it("leaves the second upload open, to be completed when the first has ended", async () => {
		const world = createStageWorld();
		const first = await upload(world, ["da", "ta"], key);
		const second = await upload(world, ["da", "ta"], key);
		await completeUpload(world, "acme", first, { parts: 2 });
		await expect(completeUpload(world, "acme", second, { parts: 2 })).rejects.toMatchObject({
			code: "load_in_progress",
		});
		const receipt = await endLoad(world, first, { status: "committed" });
		expect(await completeUpload(world, "acme", second, { parts: 2 })).toEqual({
			kind: "repeat",
			receipt,
		});
	});

	it("leaves it to the loader where cuts differ and bytes may be the same", async () => {
		const world = createStageWorld();
		const first = await upload(world, ["da", "ta"], key);
		const second = await upload(world, ["dat", "a"], key);
		await completeUpload(world, "acme", first, { parts: 2 });
		await endLoad(world, first, { status: "committed", repr_digest: digestOf("data") });
		expect(await completeUpload(world, "acme", second, { parts: 2 })).toEqual({
			kind: "started",
			loadId: second,
			bytes: 4,
		});
		const manifest = (await readManifest(world.store, "acme", second)) as Manifest;
		expect(manifest.same_content_as).toBe(first);
	});

	it("whose request died before its manifest is taken over, and the dead upload is no load any more", async () => {
		const world = createStageWorld();
		const dead = await upload(world, ["data"], key);
		const { request, parts } = await readUpload(world, "acme", dead);
		const completed_at = new Date(world.clock.now()).toISOString();
		const manifest = { ...request, parts, repr_digest: null, completed_at };
		const claim = claimOf(manifest, sha256Of("data"));
		await putJson(world.store, await idempotencyKey("acme", "order-7"), claim);

		await expect(ingest(world, "data", key)).rejects.toMatchObject({ code: "load_in_progress" });
		await world.clock.pass(11_000);
		const next = await ingest(world, "data", key);
		expect(next).toMatchObject({ kind: "started" });
		await expect(completeUpload(world, "acme", dead, { parts: 1 })).rejects.toMatchObject({
			code: "upload_expired",
		});
		await expect(ingest(world, "data", key)).rejects.toMatchObject({
			code: "load_in_progress",
			extra: { load_id: (next as { loadId: string }).loadId },
		});
	});
});
