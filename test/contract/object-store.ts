/** The laws of the store: one suite, run against every driver. */
import { describe, expect, it } from "vitest";
import { IngestError } from "../../src/errors.ts";
import type { ObjectStore } from "../../src/stage/object-store.ts";

export interface StoreUnderTest {
	open(): Promise<ObjectStore>;
	/** A driver's exceptions, by test name, each with its reason. */
	exceptions?: Record<string, string>;
	/** Keys of each page of a listing; the suite lists past one border. */
	pageSize?: number;
}

const text = (value: string) => new TextEncoder().encode(value);

export function streamOf(...chunks: (Uint8Array | Error)[]): ReadableStream<Uint8Array> {
	let at = 0;
	return new ReadableStream({
		pull(controller) {
			const chunk = chunks[at++];
			if (chunk === undefined) controller.close();
			else if (chunk instanceof Error) controller.error(chunk);
			else controller.enqueue(chunk);
		},
	});
}

export async function bytesOf(store: ObjectStore, key: string, options = {}): Promise<Uint8Array> {
	const object = await store.get(key, options);
	if (object === null) throw new Error(`no object ${key}`);
	return new Uint8Array(
		await new Response(object.body as ReadableStream<Uint8Array<ArrayBuffer>>).arrayBuffer(),
	);
}

/** Compared as bytes: the runner's own equality walks typed arrays element by element. */
function same(actual: Uint8Array, expected: Uint8Array, note = ""): void {
	const equal = Buffer.compare(actual, expected) === 0;
	expect(equal || `${actual.length} bytes that are not the ${expected.length} expected`, note).toBe(
		true,
	);
}

async function keysOf(store: ObjectStore, prefix: string, startAfter?: string): Promise<string[]> {
	const keys: string[] = [];
	const options = startAfter === undefined ? {} : { startAfter };
	for await (const { key } of store.list(prefix, options)) keys.push(key);
	return keys;
}

/** Names that file systems, URLs and XML trip over. */
export const oddKeys = [
	"odd/a b+c%2B.arrow",
	"odd/ümlaut/日本/🦆.bin",
	"odd/A",
	"odd/a",
	"odd/a/b",
	"odd/a.b",
	"odd/a-b",
	"odd/Aa/x",
	"odd/aA/x",
	"odd/b.o",
	"odd/b",
	"odd/con:aux|?*<>\\\"'",
	"odd/key=value&x;y,z$@~",
	`odd/${"n".repeat(500)}`,
	`odd/${"n".repeat(500)}/${"m".repeat(300)}.json`,
	`odd/${"Ü".repeat(200)}`,
	"odd/line\nbreak\ttab",
	"odd/trailing.",
	"odd/%",
	"odd/%tmp/x",
	"odd/%lock",
	"odd/01JDXM2Q6V8Z3T4R5W6Y7A8B9C",
	"odd/01jdxm2q6v8z3t4r5w6y7a8b9c",
	"odd/01JDXM2Q6V8Z3T4R5W6Y7A8B9C.json",
	"odd/01jdxm2q6v8z3t4r5w6y7a8b9c.json",
	"odd/01JDXM2Q6V8Z3T4R5W6Y7A8B9c.json",
];
/** What S3 itself can hold, but HTTP paths fold away. */
export const pathLikeKeys = ["odd/../up", "odd/./here", "odd//empty", "odd/..", "odd/end/"];

export function describeObjectStore(name: string, under: StoreUnderTest): void {
	const law = (title: string, run: (store: ObjectStore) => Promise<void>) => {
		const reason = under.exceptions?.[title];
		if (reason !== undefined) it.skip(`${title} (not here: ${reason})`, () => {});
		else it(title, async () => run(await under.open()));
	};

	describe(`the laws of the store: ${name}`, () => {
		law("what was put is read back at once, whole and from every range", async (store) => {
			const bytes = new Uint8Array(200_001).map((_, at) => (at * 31) & 255);
			const info = await store.put("r/one", bytes);
			expect(info).toMatchObject({ key: "r/one", size: bytes.length });
			same(await bytesOf(store, "r/one"), bytes);
			const range = (offset: number, length?: number) =>
				bytesOf(store, "r/one", { range: length === undefined ? { offset } : { offset, length } });
			same(await range(0, 1), bytes.subarray(0, 1));
			same(await range(0), bytes);
			same(await range(100_000, 7), bytes.subarray(100_000, 100_007));
			same(await range(bytes.length - 1, 1), bytes.subarray(-1));
			same(await range(bytes.length - 1, 100), bytes.subarray(-1));
			same(await range(bytes.length), new Uint8Array(0));
			same(await range(bytes.length + 10, 10), new Uint8Array(0));
			// A put may not know the store's own time of it.
			expect(await store.head("r/one")).toMatchObject({ size: info!.size, etag: info!.etag });
		});

		law(
			"where bytes can be put where they are wanted, they are those of the body",
			async (store) => {
				const bytes = new Uint8Array(300_001).map((_, at) => (at * 37) & 255);
				await store.put("p/one", bytes);
				for (const range of [{ offset: 0 }, { offset: 7, length: 100_000 }, { offset: 300_001 }]) {
					const object = (await store.get("p/one", { range }))!;
					if (object.readInto === undefined) {
						await object.body.cancel();
						continue;
					}
					const expected = bytes.subarray(range.offset, range.offset + (range.length ?? 300_001));
					const target = new Uint8Array(400_000);
					let filled = 0;
					for (;;) {
						const count = await object.readInto(target.subarray(filled, filled + 65_537));
						if (count === 0) break;
						filled += count;
					}
					same(target.subarray(0, filled), expected);
					expect(await object.readInto(new Uint8Array(1))).toBe(0);
				}
				const unread = (await store.get("p/one"))!;
				await unread.readInto?.(new Uint8Array(10));
				await unread.body.cancel();
			},
		);

		law("an object of zero bytes is an object", async (store) => {
			await store.put("z/bytes", new Uint8Array(0));
			await store.put("z/stream", streamOf());
			expect(await bytesOf(store, "z/bytes")).toHaveLength(0);
			expect(await bytesOf(store, "z/stream")).toHaveLength(0);
			expect((await store.head("z/stream"))?.size).toBe(0);
		});

		law("a stream of many chunks arrives as it was", async (store) => {
			const chunks = Array.from({ length: 90 }, (_, at) => new Uint8Array(40_000 + at).fill(at));
			const size = chunks.reduce((sum, chunk) => sum + chunk.length, 0);
			const info = await store.put("s/long", streamOf(...chunks), { size });
			expect(info?.size).toBe(size);
			const bytes = await bytesOf(store, "s/long");
			let at = 0;
			for (const chunk of chunks) {
				same(bytes.subarray(at, at + chunk.length), chunk);
				at += chunk.length;
			}
		});

		law("a stream of unknown length arrives as it was", async (store) => {
			await store.put("s/unknown", streamOf(text("ab"), text(""), text("cd")));
			same(await bytesOf(store, "s/unknown"), text("abcd"));
		});

		law(
			"a body that errors leaves no object, and the old one where there was one",
			async (store) => {
				const broken = () => streamOf(new Uint8Array(100_000), new Error("cut"));
				await expect(store.put("e/new", broken())).rejects.toThrow();
				expect(await store.head("e/new")).toBeNull();
				await store.put("e/old", text("before"));
				await expect(store.put("e/old", broken())).rejects.toThrow();
				same(await bytesOf(store, "e/old"), text("before"));
				expect(await keysOf(store, "e/")).toEqual(["e/old"]);
			},
		);

		law("a body that errors after its last announced byte leaves no object", async (store) => {
			for (const size of [3, 300_000]) {
				const put = store.put("e/end", streamOf(new Uint8Array(size), new Error("cut")), { size });
				await expect(put).rejects.toThrow();
				expect(await store.head("e/end")).toBeNull();
			}
		});

		law("a body of another size than announced leaves no object", async (store) => {
			const put = store.put("e/short", streamOf(text("abc")), { size: 5 });
			await expect(put).rejects.toThrow();
			expect(await store.head("e/short")).toBeNull();
		});

		law("other bytes than the SHA-256 says are refused and leave no object", async (store) => {
			const sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
			expect(await store.put("d/right", text("abc"), { sha256 })).not.toBeNull();
			const put = store.put("d/wrong", text("abd"), { sha256 });
			await expect(put).rejects.toMatchObject({ code: "digest_mismatch" });
			expect(await store.head("d/wrong")).toBeNull();
		});

		law("of 20 puts-if-absent at once exactly one wins, and its bytes stand", async (store) => {
			const results = await Promise.all(
				Array.from({ length: 20 }, (_, at) =>
					store.put("c/race", text(`winner ${at}`), { ifAbsent: true }),
				),
			);
			const winners = results.flatMap((result, at) => (result === null ? [] : [at]));
			expect(winners).toHaveLength(1);
			same(await bytesOf(store, "c/race"), text(`winner ${winners[0]}`));
			expect(await store.put("c/race", streamOf(text("late")), { ifAbsent: true })).toBeNull();
		});

		law(
			"a put with If-Match replaces only the object it names; of 10 at once one wins",
			async (store) => {
				expect(await store.put("m/none", text("x"), { ifMatch: "nothing" })).toBeNull();
				expect(await store.head("m/none")).toBeNull();
				const first = await store.put("m/one", text("1"));
				const results = await Promise.all(
					Array.from({ length: 10 }, (_, at) =>
						store.put("m/one", text(`2.${at}`), { ifMatch: first!.etag }),
					),
				);
				const winners = results.flatMap((result, at) => (result === null ? [] : [at]));
				expect(winners).toHaveLength(1);
				same(await bytesOf(store, "m/one"), text(`2.${winners[0]}`));
				expect(await keysOf(store, "m/")).toEqual(["m/one"]);
			},
		);

		law(
			"the ETag changes when the bytes do, and a read with the old one finds nothing",
			async (store) => {
				const etags = new Set<string>();
				for (let at = 0; at < 20; at++)
					etags.add((await store.put("t/x", text(`v${at % 10}${at}`)))!.etag);
				expect(etags.size).toBe(20);
				const now = (await store.head("t/x"))!.etag;
				const old = [...etags].find((etag) => etag !== now)!;
				expect(await store.get("t/x", { ifMatch: old })).toBeNull();
				same(await bytesOf(store, "t/x", { ifMatch: now }), text("v919"));
			},
		);

		law("what is missing is null, and deleting it is fine", async (store) => {
			expect(await store.get("no/such")).toBeNull();
			expect(await store.head("no/such")).toBeNull();
			await store.delete("no/such");
			expect(await keysOf(store, "no/")).toEqual([]);
		});

		law("what was deleted is gone at once and can be put again", async (store) => {
			await store.put("g/deep/er/x", text("1"));
			await store.delete("g/deep/er/x");
			expect(await store.head("g/deep/er/x")).toBeNull();
			expect(await keysOf(store, "g/")).toEqual([]);
			expect(await store.put("g/deep/er/x", text("2"), { ifAbsent: true })).not.toBeNull();
		});

		law(
			"a listing is ascending by UTF-8 bytes, past page borders, from any start",
			async (store) => {
				const count = (under.pageSize ?? 50) * 2 + 5;
				const keys = Array.from({ length: count }, (_, at) => `l/p/${String(at).padStart(5, "0")}`);
				for (let at = 0; at < count; at += 50) {
					await Promise.all(keys.slice(at, at + 50).map((key) => store.put(key, text(key))));
				}
				await store.put("l/p0", text("beside"));
				await store.put("l/p-", text("beside"));
				expect(await keysOf(store, "l/p/")).toEqual(keys);
				expect(await keysOf(store, "l/p")).toEqual(["l/p-", ...keys, "l/p0"]);
				expect(await keysOf(store, "l/p/0000")).toEqual(keys.slice(0, 10));
				expect(await keysOf(store, "l/p/", keys[count - 3])).toEqual(keys.slice(-2));
				expect(await keysOf(store, "l/", "l/p-")).toEqual([...keys, "l/p0"]);
				expect(await keysOf(store, "l/", "l/p/zzz")).toEqual(["l/p0"]);
				for await (const info of store.list("l/p/00007")) {
					expect(info).toEqual(await store.head("l/p/00007"));
				}
			},
		);

		const odd = async (store: ObjectStore, keys: string[]) => {
			for (const key of keys) {
				expect(await store.put(key, text(key), { ifAbsent: true }), key).not.toBeNull();
			}
			for (const key of keys) same(await bytesOf(store, key), text(key), key);
			const sorted = [...keys].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
			expect(await keysOf(store, "odd/")).toEqual(sorted);
			for (const key of keys) await store.delete(key);
			expect(await keysOf(store, "odd/")).toEqual([]);
		};
		law("odd keys are objects of their own", (store) => odd(store, oddKeys));
		law("keys that look like paths are objects of their own", (store) => odd(store, pathLikeKeys));

		law("a body that is aborted leaves no object", async (store) => {
			const abort = new AbortController();
			let sent = 0;
			const endless = new ReadableStream<Uint8Array>({
				pull(controller) {
					if (++sent === 5) abort.abort(new IngestError("timeout", "too slow"));
					controller.enqueue(new Uint8Array(70_000));
				},
			});
			await expect(store.put("a/x", endless, { signal: abort.signal })).rejects.toThrow();
			expect(await store.head("a/x")).toBeNull();
		});

		law("a reader that stops early harms no one", async (store) => {
			await store.put("b/x", new Uint8Array(2_000_000));
			const object = await store.get("b/x");
			const reader = object!.body.getReader();
			await reader.read();
			await reader.cancel();
			expect((await bytesOf(store, "b/x")).length).toBe(2_000_000);
		});
	});
}
