import { describe, expect, it } from "vitest";
import { completeUpload } from "../../../src/stage/complete-upload.ts";
import { putPart } from "../../../src/stage/put-part.ts";
import { abortUpload, createUpload, readUpload } from "../../../src/stage/stage-upload.ts";
import { bodyOf, createStageWorld, sha256Of, textOf, uploadOf } from "./stage-world.ts";

async function open(limits = {}) {
	const world = createStageWorld(limits);
	const { upload_id: id } = await createUpload(world, uploadOf());
	const put = (n: number, text: string, options = {}) =>
		putPart(world, "acme", id, n, bodyOf(text), options);
	return { world, id, put };
}

describe("a part", () => {
	it("is told with its size and SHA-256 once it is stored", async () => {
		const { world, id, put } = await open();
		expect(await put(2, "abc")).toEqual({ n: 2, size: 3, sha256: sha256Of("abc") });
		await put(1, "x");
		const { state, parts } = await readUpload(world, "acme", id);
		expect(state).toBe("open");
		expect(parts.map(({ n, size, sha256 }) => [n, size, sha256])).toEqual([
			[1, 1, sha256Of("x")],
			[2, 3, sha256Of("abc")],
		]);
	});

	it("sent again stands with the bytes that came last, and its first object stays as it was", async () => {
		const { world, id, put } = await open();
		for (const text of ["one", "two", "three"]) await put(1, text);
		const { parts } = await readUpload(world, "acme", id);
		expect(parts).toHaveLength(1);
		expect(parts[0]).toMatchObject({ n: 1, size: 5, sha256: sha256Of("three") });
		expect(await textOf(world, parts[0]!.key)).toBe("three");
		expect(await textOf(world, `uploads/acme/${id}/parts/00001`)).toBe("one");
	});

	it("sent twice at one moment is right for both when the bytes are the same", async () => {
		const { world, id, put } = await open();
		await Promise.all([put(1, "same"), put(1, "same"), put(1, "same")]);
		const { parts } = await readUpload(world, "acme", id);
		expect(parts).toMatchObject([{ n: 1, sha256: sha256Of("same") }]);
	});

	it("sent twice at one moment with other bytes is told to the one whose bytes don't stand", async () => {
		const { world, id, put } = await open();
		const results = await Promise.allSettled([put(1, "aaaa"), put(1, "bbbb")]);
		const { parts } = await readUpload(world, "acme", id);
		const stands = await textOf(world, parts[0]!.key);
		for (const [at, text] of ["aaaa", "bbbb"].entries()) {
			if (text === stands) expect(results[at]!.status).toBe("fulfilled");
			else if (results[at]!.status === "rejected") {
				expect(results[at]).toMatchObject({ reason: { code: "store_unavailable" } });
			}
		}
		expect(results.some(({ status }) => status === "fulfilled")).toBe(true);
	});

	it("of another digest than announced leaves nothing", async () => {
		const { world, id, put } = await open();
		await expect(put(1, "abc", { sha256: sha256Of("abd") })).rejects.toMatchObject({
			code: "digest_mismatch",
		});
		expect((await readUpload(world, "acme", id)).parts).toEqual([]);
	});

	it("whose body breaks off leaves nothing and can be sent again", async () => {
		const { world, id, put } = await open();
		const cut = putPart(world, "acme", id, 1, bodyOf("abc", new Error("reset")), { size: 9 });
		await expect(cut).rejects.toMatchObject({ code: "truncated_stream" });
		expect((await readUpload(world, "acme", id)).parts).toEqual([]);
		await put(1, "abcdefghi");
		expect((await readUpload(world, "acme", id)).parts).toMatchObject([{ n: 1, size: 9 }]);
	});

	it("over the limit is refused, announced or not", async () => {
		const { world, id, put } = await open({ maxPartBytes: 4 });
		await expect(put(1, "12345", { size: 5 })).rejects.toMatchObject({ code: "too_large" });
		await expect(put(1, "12345")).rejects.toMatchObject({ code: "too_large" });
		await put(1, "1234");
		expect((await readUpload(world, "acme", id)).parts).toMatchObject([{ n: 1, size: 4 }]);
	});

	it.each([0, 10_001, 1.5, -1])("with the number %d is refused when it is sent", async (n) => {
		const { put } = await open();
		await expect(put(n, "x")).rejects.toMatchObject({ code: "bad_request" });
	});

	it("of an upload that was completed, aborted, or is over is refused", async () => {
		const completed = await open();
		await completed.put(1, "x");
		await completeUpload(completed.world, "acme", completed.id, { parts: 1 });
		await expect(completed.put(1, "y")).rejects.toMatchObject({ code: "upload_completed" });

		const aborted = await open();
		await abortUpload(aborted.world, "acme", aborted.id);
		await expect(aborted.put(1, "y")).rejects.toMatchObject({ code: "upload_expired" });

		const over = await open();
		await over.world.clock.pass(24 * 3_600_000);
		await expect(over.put(1, "y")).rejects.toMatchObject({ code: "upload_expired" });
		expect((await readUpload(over.world, "acme", over.id)).state).toBe("expired");
	});

	it("of another tenant's upload is as one that isn't there", async () => {
		const { world, id } = await open();
		const put = putPart(world, "other", id, 1, bodyOf("x"));
		await expect(put).rejects.toMatchObject({ code: "upload_not_found" });
	});
});

describe("an aborted upload", () => {
	it("has no bytes, stays aborted, and aborting again is fine", async () => {
		const { world, id, put } = await open();
		await put(1, "x");
		await abortUpload(world, "acme", id);
		await abortUpload(world, "acme", id);
		expect((await readUpload(world, "acme", id)).state).toBe("aborted");
		expect(await world.keys(`uploads/acme/${id}/parts/`)).toEqual([]);
		await expect(completeUpload(world, "acme", id, { parts: 1 })).rejects.toMatchObject({
			code: "upload_expired",
		});
	});
});
