import { describe, expect, it } from "vitest";
import { stageBody } from "../../../src/stage/stage-body.ts";
import { readUpload } from "../../../src/stage/stage-upload.ts";
import { bodyOf, createStageWorld, sha256Of, textOf, uploadOf } from "./stage-world.ts";

const alphabet = "abcdefghijklmnopqrstuvwxyz";

describe("a body of any length", () => {
	it.each([
		[["abcdefghijklmnopqrstuvwxyz"]],
		[[...alphabet]],
		[["abc", "", "defghijklmnop", "qrstuvwxy", "z"]],
	])("is cut into parts of one size, whatever its chunks are: %j", async (pieces) => {
		const world = createStageWorld({ partBytes: 10 });
		const sha256 = sha256Of(alphabet);
		const staged = await stageBody(world, uploadOf(), bodyOf(...pieces), { sha256 });
		expect(staged.parts.map(({ n, size }) => [n, size])).toEqual([
			[1, 10],
			[2, 10],
			[3, 6],
		]);
		const texts = await Promise.all(staged.parts.map(({ key }) => textOf(world, key)));
		expect(texts.join("")).toBe(alphabet);
		expect(staged.parts.map(({ sha256 }) => sha256)).toEqual(texts.map(sha256Of));
		expect(staged).toMatchObject({ size: 26, sha256 });
		expect(await readUpload(world, "acme", staged.upload.upload_id)).toMatchObject({
			state: "open",
		});
	});

	it("that ends at a part's border has no empty part after it", async () => {
		const world = createStageWorld({ partBytes: 13 });
		const staged = await stageBody(world, uploadOf(), bodyOf(...alphabet));
		expect(staged.parts.map(({ size }) => size)).toEqual([13, 13]);
		expect(staged.sha256).toBeNull();
	});

	it("of zero bytes has no parts", async () => {
		const staged = await stageBody(createStageWorld(), uploadOf(), bodyOf());
		expect(staged).toMatchObject({ parts: [], size: 0 });
	});

	it("that breaks off leaves no bytes and no load", async () => {
		const world = createStageWorld({ partBytes: 4 });
		const cut = stageBody(world, uploadOf(), bodyOf("abcdefg", "hi", new Error("reset")));
		await expect(cut).rejects.toMatchObject({ code: "truncated_stream" });
		const keys = await world.keys("uploads/");
		expect(keys.filter((key) => key.includes("/parts/"))).toEqual([]);
		const id = keys[0]!.split("/")[2]!;
		expect((await readUpload(world, "acme", id)).state).toBe("aborted");
	});

	it("over the upload's limit is refused when it is met", async () => {
		const world = createStageWorld({ partBytes: 4, maxUploadBytes: 10 });
		let pulled = 0;
		const endless = new ReadableStream<Uint8Array>({
			pull(controller) {
				pulled++;
				controller.enqueue(new Uint8Array(3));
			},
		});
		await expect(stageBody(world, uploadOf(), endless)).rejects.toMatchObject({
			code: "too_large",
		});
		expect(pulled).toBeLessThan(10);
	});

	it("of more parts than there may be is refused", async () => {
		const world = createStageWorld({ partBytes: 1, maxParts: 3 });
		const staged = stageBody(world, uploadOf(), bodyOf("abcd"));
		await expect(staged).rejects.toMatchObject({ code: "too_large" });
	});

	it("of another digest than announced leaves no bytes", async () => {
		const world = createStageWorld({ partBytes: 4 });
		const sha256 = sha256Of("something else");
		const staged = stageBody(world, uploadOf(), bodyOf("abcdefg"), { sha256 });
		await expect(staged).rejects.toMatchObject({ code: "digest_mismatch" });
		expect((await world.keys()).filter((key) => key.includes("/parts/"))).toEqual([]);
	});

	it("is the same where the store needs to know lengths", async () => {
		const world = createStageWorld({ partBytes: 10 });
		const { put } = world.store;
		const types: string[] = [];
		const store = {
			...world.store,
			needsKnownLength: true,
			put: (...args: Parameters<typeof put>) => {
				types.push(args[1].constructor.name);
				return put(...args);
			},
		};
		const staged = await stageBody({ ...world, store }, uploadOf(), bodyOf(...alphabet));
		expect(staged.parts.map(({ size }) => size)).toEqual([10, 10, 6]);
		expect(types.filter((type) => type !== "Uint8Array")).toEqual([]);
	});
});
