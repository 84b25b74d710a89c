import { describe, expect, it } from "vitest";
import { mapKeysCheck } from "../../../../src/arrow/check/check-map-keys.ts";
import { keyReader } from "../../../../src/arrow/check/key-reader.ts";
import type { ArrowType } from "../../../../src/arrow/types.ts";
import { arrayOf, field, int } from "../support/arrays.ts";

const mapOf = (type: ArrowType) => {
	const children = [field("key", type, { nullable: false }), field("value", { kind: "null" })];
	const entries = field("entries", { kind: "struct" }, { nullable: false, children });
	return field("m", { kind: "map", keysSorted: false }, { children: [entries] });
};

function refused(
	type: ArrowType,
	keys: readonly unknown[],
): { row?: number; detail: string } | null {
	const of = mapOf(type);
	const place = { column: "m", arrowType: "map", batch: 0, rowOf: (row: number) => row };
	try {
		mapKeysCheck(of)(arrayOf(of, [[], keys.map((key) => [key, null])]), place);
		return null;
	} catch (error) {
		const { message, place: found } = error as Error & { place: { row?: number } };
		return { ...found, detail: message };
	}
}

const kinds: [ArrowType, (i: number) => unknown][] = [
	[{ kind: "utf8" }, (i) => `key ${i}`],
	[{ kind: "large_binary" }, (i) => Uint8Array.of(i, i >> 8)],
	[{ kind: "utf8_view" }, (i) => `a key that lies elsewhere: ${i}`],
	[int(16), (i) => i],
	[int(64, false), (i) => BigInt(i) << 40n],
	[{ kind: "float", bits: 64 }, (i) => i / 4],
	[{ kind: "float", bits: 16 }, (i) => i],
	[{ kind: "fixed_size_binary", byteWidth: 3 }, (i) => Uint8Array.of(1, i, i >> 8)],
	[{ kind: "date", unit: "day" }, (i) => i],
	[{ kind: "decimal", bits: 256, precision: 50, scale: 2 }, (i) => BigInt(i) << 120n],
];

describe("map keys", () => {
	it.each([3, 300])("that are all different pass, one of %i twice is named", (count) => {
		for (const [type, make] of kinds) {
			const keys = Array.from({ length: count }, (_, i) => make(i));
			expect([type, refused(type, keys)]).toEqual([type, null]);
			expect(refused(type, [...keys, make(count - 2)])).toMatchObject({
				row: 1,
				detail: `column m: the key of entry ${count} is there before it`,
			});
		}
	});

	it("are one when they are zero with either sign, or NaN of any kind", () => {
		expect(refused({ kind: "float", bits: 64 }, [0, -0])).toMatchObject({ row: 1 });
		expect(refused({ kind: "float", bits: 16 }, [0, 0x8000])).toMatchObject({ row: 1 });
		expect(refused({ kind: "float", bits: 16 }, [0x7e00, 0xfe01])).toMatchObject({ row: 1 });
	});

	it("are one when DuckDB takes them for one", () => {
		const nanos = (months: bigint, days: bigint, nanoseconds: bigint) =>
			(nanoseconds << 64n) | (days << 32n) | months;
		const hour = 3_600_000_000_000n;
		for (const [type, ...keys] of [
			[{ kind: "interval", unit: "month_day_nano" }, nanos(0n, 1n, 0n), nanos(0n, 0n, 24n * hour)],
			[{ kind: "interval", unit: "month_day_nano" }, nanos(1n, 0n, 0n), nanos(0n, 30n, 0n)],
			[{ kind: "interval", unit: "day_time" }, 1n, 86_400_000n << 32n],
			[{ kind: "duration", unit: "ns" }, 1_000n, 1_999n],
			[{ kind: "timestamp", unit: "ns", zone: "UTC" }, -1n, 999n],
			[{ kind: "date", unit: "ms" }, -1n, -86_400_000n],
		] as [ArrowType, ...bigint[]][]) {
			expect([type, refused(type, keys)]).toMatchObject([type, { row: 1 }]);
			expect([
				type,
				refused(type, [keys[0]!, keys[0]! + (type.kind === "interval" ? 5n : 90_000_000n)]),
			]).toEqual([type, null]);
		}
	});

	it("that all hash alike are compared all the same", () => {
		const all = Array.from({ length: 200_000 }, (_, i) => i);
		const { hash } = keyReader(field("key", int(32)))!(arrayOf(field("key", int(32)), all));
		const alike = all.filter((i) => (hash(i) & 0x3ff) === 5);
		expect(alike.length).toBeGreaterThan(100);
		expect(refused(int(32), alike)).toBeNull();
		expect(refused(int(32), [...alike, alike[70]])).toMatchObject({ row: 1 });
	});

	it("may not be of the null type", () => {
		expect(refused({ kind: "null" }, [null])).toMatchObject({
			detail: "column m: the key of entry 0 is null",
		});
	});
});
