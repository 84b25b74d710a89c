import { describe, expect, it } from "vitest";
import { IngestError } from "../../../src/errors.ts";
import { appendBody, readAppended, recordLength } from "../../../src/stage/append-body.ts";
import { partKey, partName } from "../../../src/stage/object-keys.ts";
import { createUpload } from "../../../src/stage/stage-upload.ts";
import {
	bodyOf,
	bytesOf,
	createStageWorld,
	type StageWorld,
	sha256Of,
	textOf,
	uploadOf,
} from "./stage-world.ts";

async function begin(world: StageWorld, length: number | null = null): Promise<string> {
	const appends = { length, repr_digest: null };
	return (await createUpload(world, uploadOf({ appends }))).upload_id;
}

const look = (world: StageWorld, id: string) => readAppended(world, "acme", id);

async function textOfParts(world: StageWorld, id: string): Promise<string[]> {
	const { parts } = await look(world, id);
	return Promise.all(parts.map(({ key }) => textOf(world, key)));
}

describe("an append", () => {
	it("becomes the next parts, each told when it is durable", async () => {
		const world = createStageWorld({ partBytes: 4 });
		const id = await begin(world);
		const told: number[] = [];
		const onOffset = (offset: number) => told.push(offset);
		await appendBody(world, await look(world, id), bodyOf("abcde", "f"), { onOffset });
		const result = await appendBody(world, await look(world, id), bodyOf("ghijk"), { onOffset });
		expect(result).toEqual({ parts: 4, offset: 11, brokenOff: null });
		expect(told).toEqual([4, 6, 10, 11]);
		expect(await textOfParts(world, id)).toEqual(["abcd", "ef", "ghij", "k"]);
		const { parts } = await look(world, id);
		expect(parts.map(({ sha256 }) => sha256)).toEqual(["abcd", "ef", "ghij", "k"].map(sha256Of));
	});

	it("that breaks off keeps what came of it", async () => {
		const world = createStageWorld({ partBytes: 4 });
		const id = await begin(world);
		const cut = bodyOf("abcdef", "g", new Error("reset"));
		const { offset, brokenOff } = await appendBody(world, await look(world, id), cut);
		expect([offset, brokenOff?.code]).toEqual([7, "truncated_stream"]);
		expect(await textOfParts(world, id)).toEqual(["abcd", "efg"]);
	});

	it("that is ended from elsewhere keeps what came, or what was durable", async () => {
		for (const keeps of [true, false]) {
			const world = createStageWorld({ partBytes: 4 });
			const id = await begin(world);
			let end = (_: IngestError, __: boolean) => {};
			const pieces = ["abcdef"];
			const silent = new ReadableStream<Uint8Array>(
				{
					pull(controller) {
						const piece = pieces.shift();
						if (piece !== undefined) return controller.enqueue(bytesOf(piece));
						// Nothing more comes, and nobody says so.
						queueMicrotask(() => end(new IngestError("load_in_progress", "displaced"), keeps));
						return new Promise(() => {});
					},
				},
				{ highWaterMark: 0 },
			);
			const appended = appendBody(world, await look(world, id), silent, {
				onStart: (handed) => {
					end = handed;
				},
			});
			if (keeps) expect((await appended).brokenOff?.code).toBe("load_in_progress");
			else await expect(appended).rejects.toMatchObject({ code: "load_in_progress" });
			expect((await look(world, id)).offset).toBe(keeps ? 6 : 0);
		}
	});

	it("of which another one took the place does not count, and learns the offset", async () => {
		const world = createStageWorld();
		const id = await begin(world);
		const seen = await look(world, id);
		const appends = [
			appendBody(world, seen, bodyOf("abc")),
			appendBody(world, seen, bodyOf("xyz")),
		];
		const settled = await Promise.allSettled(appends);
		const lost = settled.find(({ status }) => status === "rejected") as PromiseRejectedResult;
		expect(settled.filter(({ status }) => status === "fulfilled").length).toBe(1);
		expect(lost.reason).toMatchObject({
			code: "offset_mismatch",
			extra: { "expected-offset": 3, "provided-offset": 0 },
		});
		expect((await look(world, id)).offset).toBe(3);
	});

	it("of bytes behind a gap is none", async () => {
		const world = createStageWorld();
		const id = await begin(world);
		await appendBody(world, await look(world, id), bodyOf("abc"));
		await world.store.put(partKey("acme", id, partName(3)), bytesOf("lost"));
		expect(await look(world, id)).toMatchObject({ offset: 3, parts: [{ n: 1 }] });
	});

	it("with a digest is kept whole or not at all", async () => {
		const world = createStageWorld({ partBytes: 4, maxPartBytes: 20 });
		const id = await begin(world);
		const add = async (text: string, sha256: string) =>
			appendBody(world, await look(world, id), bodyOf(...text), { sha256 });
		await expect(add("abcdefgh", sha256Of("other"))).rejects.toMatchObject({
			code: "digest_mismatch",
		});
		await expect(add("", sha256Of("other"))).rejects.toMatchObject({ code: "digest_mismatch" });
		await expect(add("x".repeat(21), sha256Of("x".repeat(21)))).rejects.toMatchObject({
			code: "too_large",
		});
		const cut = appendBody(world, await look(world, id), bodyOf("abc", new Error("reset")), {
			sha256: sha256Of("abcdef"),
		});
		await expect(cut).rejects.toMatchObject({ code: "truncated_stream" });
		expect((await look(world, id)).offset).toBe(0);
		await add("abcdefgh", sha256Of("abcdefgh"));
		expect(await textOfParts(world, id)).toEqual(["abcdefgh"]);
	});

	it("over the announced length ends the upload, over the limit itself alone", async () => {
		const world = createStageWorld({ partBytes: 4, maxUploadBytes: 10 });
		const announced = await begin(world, 5);
		await expect(
			appendBody(world, await look(world, announced), bodyOf("abc", "def")),
		).rejects.toMatchObject({ code: "bad_request" });
		expect((await look(world, announced)).state).toBe("aborted");
		const id = await begin(world);
		await appendBody(world, await look(world, id), bodyOf("abcdef"));
		await expect(appendBody(world, await look(world, id), bodyOf("ghijk"))).rejects.toMatchObject({
			code: "too_large",
		});
		expect(await look(world, id)).toMatchObject({ state: "open", offset: 6 });
	});

	it("of more parts than there may be is refused, and what came before stays", async () => {
		const world = createStageWorld({ partBytes: 2, maxParts: 2 });
		const id = await begin(world);
		await expect(appendBody(world, await look(world, id), bodyOf("abcde"))).rejects.toMatchObject({
			code: "too_large",
		});
		expect((await look(world, id)).offset).toBe(4);
	});
});

describe("an upload's length", () => {
	it("is what was announced first, whenever that was", async () => {
		const world = createStageWorld();
		for (const length of [null, 9]) {
			const id = await begin(world, length);
			await recordLength(world, await look(world, id), 9);
			expect((await look(world, id)).length).toBe(9);
			await recordLength(world, await look(world, id), 9);
			await expect(recordLength(world, await look(world, id), 10)).rejects.toMatchObject({
				code: "bad_request",
			});
		}
	});

	it("of two that are announced at one moment is one", async () => {
		const world = createStageWorld();
		const id = await begin(world);
		const seen = await look(world, id);
		const settled = await Promise.allSettled([9, 10].map((one) => recordLength(world, seen, one)));
		expect(settled.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
	});

	it("is no less than what is there", async () => {
		const world = createStageWorld();
		const id = await begin(world);
		await appendBody(world, await look(world, id), bodyOf("abc"));
		await expect(recordLength(world, await look(world, id), 2)).rejects.toMatchObject({
			code: "bad_request",
		});
	});
});
