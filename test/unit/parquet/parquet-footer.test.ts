import { describe, expect, it } from "vitest";
import { IngestError } from "../../../src/errors.ts";
import { defaultLimits, type Limits } from "../../../src/limits.ts";
import { readParquetFooter } from "../../../src/parquet/parquet-footer.ts";
import {
	binary,
	bool,
	chunk,
	element,
	type FileParts,
	fileOf,
	framed,
	group,
	i32,
	i64,
	struct,
} from "./footer-writer.ts";

const read = (bytes: Uint8Array, limits: Partial<Limits> = {}) =>
	readParquetFooter(
		{
			size: bytes.length,
			async read(offset, length) {
				if (offset < 0 || offset + length > bytes.length)
					throw new Error("read outside of the file");
				return bytes.slice(offset, offset + length);
			},
		},
		{ ...defaultLimits, ...limits },
	);

async function refusal(bytes: Uint8Array, limits: Partial<Limits> = {}): Promise<IngestError> {
	try {
		await read(bytes, limits);
	} catch (error) {
		if (error instanceof IngestError) return error;
		throw error;
	}
	throw new Error("it was taken");
}

const codeOf = async (parts: FileParts, limits: Partial<Limits> = {}) =>
	(await refusal(fileOf(parts), limits)).code;

describe("the footer of a Parquet file", () => {
	it("gives columns, leaves, rows and row groups", async () => {
		const file = fileOf({
			schema: [
				element("id", { 3: i32(0) }),
				group("point", 2),
				element("x"),
				element("y"),
				group("tags", 1),
				group("list", 1, { 3: i32(2) }),
				element("element"),
			],
			columns: 3,
			groups: [10, 3].map((rows) => ({
				rows,
				chunks: [rows, rows, rows, 99].map((values) => chunk({ 5: i64(values) })),
			})),
		});
		expect(await read(file)).toEqual({
			rows: 13,
			rowGroups: 2,
			columns: [
				{ name: "id", nullable: false },
				{ name: "point", nullable: true },
				{ name: "tags", nullable: true },
			],
			leaves: [
				{ path: "id", flat: true, loses: null },
				{ path: "point.x", flat: true, loses: null },
				{ path: "point.y", flat: true, loses: null },
				{ path: "tags.list.element", flat: false, loses: null },
			],
		});
	});

	it("names what DuckDB's reader cuts off: nanoseconds of INT96, of times and of UTC", async () => {
		const unit = struct({ 3: struct({}) });
		const time = (id: number, utc: boolean) => ({
			10: struct({ [id]: struct({ 1: bool(utc), 2: unit }) }),
		});
		const { leaves } = await read(
			fileOf({
				schema: [
					element("old", { 1: i32(3) }),
					element("time", time(7, false)),
					element("utc", time(8, true)),
					element("local", time(8, false)),
				],
				groups: [],
			}),
		);
		expect(leaves.map(({ loses }) => loses)).toEqual([
			"nanoseconds",
			"nanoseconds",
			"nanoseconds of UTC",
			null,
		]);
	});

	it("is not_arrow, truncated or broken at its ends", async () => {
		const file = fileOf();
		expect((await refusal(new Uint8Array(0))).code).toBe("not_arrow");
		expect((await refusal(new TextEncoder().encode("a,b,c,d,e,f,g\n"))).code).toBe("not_arrow");
		for (const length of [4, 8, 11, 12, 50, file.length - 1]) {
			expect([length, (await refusal(file.subarray(0, length))).code]).toEqual([
				length,
				"truncated_stream",
			]);
		}
		const longer = file.slice();
		new DataView(longer.buffer).setUint32(longer.length - 8, longer.length, true);
		expect(await refusal(longer)).toMatchObject({
			code: "invalid_arrow",
			message: expect.stringContaining(`${longer.length} bytes of ${longer.length}`),
		});
	});

	it("is refused wherever its Thrift ends, and whatever byte of it is another, but never fails otherwise", async () => {
		const file = fileOf();
		const footerAt = 84;
		const footer = [...file.subarray(footerAt, file.length - 8)];
		for (let length = 0; length < footer.length; length++) {
			expect((await refusal(framed(footer.slice(0, length)))).code).toBe("invalid_arrow");
		}
		let taken = 0;
		for (let at = 0; at < footer.length; at++) {
			for (const byte of [0, 0x15, 0x19, 0x1c, 0x7f, 0x80, 0xfc, 0xff]) {
				const other = footer.slice();
				other[at] = byte;
				await read(framed(other)).then(
					() => taken++,
					(error) => expect(error).toBeInstanceOf(IngestError),
				);
			}
		}
		// Names, sizes and what nobody looks at.
		expect(taken).toBeGreaterThan(0);
	});

	it("is unsupported_codec where it is encrypted or compressed with LZO or Hadoop's LZ4", async () => {
		expect((await refusal(new TextEncoder().encode("PARE12345678PARE"))).code).toBe(
			"unsupported_codec",
		);
		expect(await codeOf({ more: { 8: struct({ 1: struct({}) }) } })).toBe("unsupported_codec");
		const one = (value: ReturnType<typeof chunk>) => ({ groups: [{ rows: 10, chunks: [value] }] });
		expect(await codeOf(one(chunk({}, { 8: struct({ 1: struct({}) }) })))).toBe(
			"unsupported_codec",
		);
		for (const codec of [3, 5, 8, -1]) {
			expect([codec, await codeOf(one(chunk({ 4: i32(codec) })))]).toEqual([
				codec,
				"unsupported_codec",
			]);
		}
		for (const codec of [0, 1, 2, 4, 6, 7]) await read(fileOf(one(chunk({ 4: i32(codec) }))));
	});

	it("is broken where a chunk lies outside of the file, in another one, or has other values", async () => {
		const wrong = {
			"before the magic's end": chunk({ 9: i64(3) }),
			"into the footer": chunk({ 7: i64(81) }),
			"far away": chunk({ 9: i64(2 ** 50) }),
			negative: chunk({ 7: i64(-1) }),
			"dictionary before": chunk({ 11: i64(-8) }),
			"another file": chunk({}, { 1: binary("/etc/passwd") }),
			"fewer values": chunk({ 5: i64(9) }),
			"no metadata": struct({ 2: i64(4) }),
			"a number over 2^53": chunk({ 9: i64(2n ** 62n) }),
		};
		for (const [name, value] of Object.entries(wrong)) {
			const code = await codeOf({ groups: [{ rows: 10, chunks: [value] }] });
			const expected = name === "no metadata" ? "unsupported_codec" : "invalid_arrow";
			expect([name, code]).toEqual([name, expected]);
		}
		expect(await codeOf({ groups: [{ rows: 10, chunks: [] }] })).toBe("invalid_arrow");
	});

	it("is broken where its rows don't add up", async () => {
		expect(await codeOf({ rows: 11 })).toBe("invalid_arrow");
		expect(
			await codeOf({ rows: -10, groups: [{ rows: -10, chunks: [chunk({ 5: i64(-10) })] }] }),
		).toBe("invalid_arrow");
		await read(fileOf({ rows: 0, groups: [] }));
	});

	it("is too_large by columns, footer, bytes unpacked or rows", async () => {
		const wide = { schema: Array.from({ length: 11 }, (_, n) => element(`c${n}`)), groups: [] };
		expect(await codeOf(wide, { maxColumns: 10 })).toBe("too_large");
		const nested = { schema: [group("s", 11), ...wide.schema], columns: 1, groups: [] };
		expect(await codeOf(nested, { maxColumns: 10 })).toBe("too_large");
		expect(await codeOf(wide, { maxMetadataBytes: 50 })).toBe("too_large");
		expect(
			await codeOf(
				{ groups: [{ rows: 10, chunks: [chunk({ 6: i64(2_000) })] }] },
				{ maxUploadBytes: 1_000 },
			),
		).toBe("too_large");
		// Nothing but nulls, many of them.
		const rows = 2 ** 40;
		expect(await codeOf({ groups: [{ rows, chunks: [chunk({ 5: i64(rows) })] }] })).toBe(
			"too_large",
		);
	});

	it("has columns that DuckDB can tell apart and name", async () => {
		const named = (...names: string[]) =>
			codeOf({ schema: names.map((name) => element(name)), groups: [] });
		expect(await named("a", "A")).toBe("duplicate_column");
		expect(await named("")).toBe("invalid_arrow");
		expect(await named("a\0b")).toBe("invalid_arrow");
		expect(await named("n".repeat(256))).toBe("invalid_arrow");
		const inside = { schema: [group("s", 2), element("x"), element("X")], columns: 1, groups: [] };
		expect(await refusal(fileOf(inside))).toMatchObject({
			code: "duplicate_column",
			place: { column: "s" },
		});
		const bytes = { schema: [element("n", { 4: binary(Uint8Array.of(0xff)) })], groups: [] };
		expect(await codeOf(bytes)).toBe("invalid_arrow");
	});

	it("has a schema that closes and is not too deep", async () => {
		expect(await codeOf({ schema: [], groups: [] })).toBe("invalid_arrow");
		expect(await codeOf({ columns: 2, groups: [] })).toBe("invalid_arrow");
		expect(await codeOf({ schema: [element("a"), element("b")], columns: 1, groups: [] })).toBe(
			"invalid_arrow",
		);
		expect(await codeOf({ schema: [group("g", -1)], columns: 1, groups: [] })).toBe(
			"invalid_arrow",
		);
		expect(
			await codeOf({ schema: [element("a", { 5: i32(1) }), element("b")], columns: 1, groups: [] }),
		).toBe("invalid_arrow");
		const deep = (depth: number) => ({
			schema: [...Array.from({ length: depth }, (_, n) => group(`g${n}`, 1)), element("leaf")],
			columns: 1,
			groups: [],
		});
		expect(await codeOf(deep(9), { maxNesting: 4 })).toBe("invalid_arrow");
		await read(fileOf(deep(8)), { maxNesting: 4 });
	});

	it("is unsupported_type for decimals that DuckDB would read as DOUBLE, and for VARIANT", async () => {
		const decimal = (precision: number) => ({
			schema: [element("d", { 6: i32(5), 7: i32(2), 8: i32(precision) })],
			groups: [],
		});
		await read(fileOf(decimal(38)));
		expect(await refusal(fileOf(decimal(39)))).toMatchObject({
			code: "unsupported_type",
			place: { column: "d" },
		});
		const logical = {
			schema: [element("d", { 10: struct({ 5: struct({ 1: i32(2), 2: i32(52) }) }) })],
			groups: [],
		};
		expect(await codeOf(logical)).toBe("unsupported_type");
		const variant = {
			schema: [group("v", 1, { 10: struct({ 16: struct({}) }) }), element("value")],
			columns: 1,
			groups: [],
		};
		expect(await codeOf(variant)).toBe("unsupported_type");
	});
});
