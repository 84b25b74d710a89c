/**
 * Streams made from a grammar: random fields of every type at random depth with
 * random values of them, mostly right ones. In: random numbers; out: an IPC stream
 * with dictionaries, several batches, with or without compression.
 */

import { zstdCompressSync } from "node:zlib";
import { gatherPlan } from "../../src/arrow/array/gather-plan.ts";
import type { ArrayData, ArrowType, Field, IndexType } from "../../src/arrow/types.ts";
import { arrayOf, bytesOf, extension, field, int } from "../unit/arrow/support/arrays.ts";
import { lz4Frame } from "../unit/arrow/support/lz4-compress.ts";
import {
	concat,
	endOfStream,
	type WriteOptions,
	writeBatch,
	writeDictionary,
	writeFile,
	writeSchema,
} from "../unit/arrow/support/write-ipc.ts";
import type { Prng } from "./prng.ts";

const maxDepth = 4;

export function grammarStream(prng: Prng): Uint8Array {
	let dictionaries = 0n;
	const nextId = () => dictionaries++;
	const fields = Array.from({ length: 1 + prng.below(4) }, (_, i) =>
		randomField(`c${i}`, 0, prng, nextId),
	);
	const options: WriteOptions = {
		version: prng.chance(0.1) ? 3 : 4,
		legacy: prng.chance(0.1),
		...compression(prng),
	};
	const parts = [writeSchema(fields, options)];
	const batches = prng.below(4);
	for (let batch = 0; batch < batches; batch++) {
		const rows = prng.chance(0.1) ? 0 : 1 + prng.below(20);
		const columns = fields.map((column) =>
			arrayOf(
				column,
				Array.from({ length: rows }, () => randomValue(column, prng)),
			),
		);
		for (const [i, column] of fields.entries()) {
			const { dictionary } = columns[i]!;
			if (column.dictionary && dictionary) parts.push(writeDictionary(column, dictionary, options));
		}
		parts.push(writeBatch(fields, columns, options, rows));
	}
	if (prng.chance(0.9)) parts.push(options.legacy ? new Uint8Array(4) : endOfStream);
	return concat(...parts);
}

/**
 * Many batches of few rows, of fields that are joined where they lie; now and then of another, or with
 * a dictionary that comes again, replaced or longer, between them. Now and then they are a file.
 */
export function smallBatchStream(prng: Prng): Uint8Array {
	let dictionaries = 0n;
	const nextId = () => dictionaries++;
	const joinable = (name: string): Field => {
		const made = randomField(name, prng.below(2), prng, nextId);
		return gatherPlan([made]) === null && !prng.chance(0.02) ? joinable(name) : made;
	};
	const fields = Array.from({ length: 1 + prng.below(5) }, (_, i) => joinable(`c${i}`));
	const options: WriteOptions = prng.chance(0.4) ? compression(prng, 1) : {};
	const isFile = prng.chance(0.2);
	const sizes = Array.from({ length: 3 + prng.below(30) }, () =>
		prng.chance(0.15) ? 0 : 1 + prng.below(prng.pick([2, 9, 20])),
	);
	const values = new Map<Field, unknown[]>();
	const dictionaryParts: Uint8Array[] = [];
	const batches: Uint8Array[] = [];
	const parts: Uint8Array[] = [];
	const add = (part: Uint8Array, list: Uint8Array[]) => {
		parts.push(part);
		list.push(part);
	};
	for (const rows of sizes) {
		const columns = fields.map((column): ArrayData => {
			if (column.dictionary === null) {
				const made = Array.from({ length: rows }, () => randomValue(column, prng));
				return beginElsewhere(column, arrayOf(column, made), prng);
			}
			const plain = { ...column, dictionary: null };
			const before = values.get(column);
			const isDelta = before !== undefined && prng.chance(0.04);
			if (before === undefined || isDelta || (!isFile && prng.chance(0.04))) {
				const made = Array.from({ length: 1 + prng.below(5) }, () => randomValue(plain, prng));
				values.set(column, isDelta ? [...before, ...made] : made);
				const dictionary = arrayOf(plain, made);
				add(writeDictionary(column, dictionary, { ...options, isDelta }), dictionaryParts);
			}
			const count = values.get(column)!.length;
			const indices = Array.from({ length: rows }, () =>
				column.nullable && prng.chance(0.1) ? null : prng.below(count),
			);
			return arrayOf({ ...plain, type: column.dictionary.indexType, children: [] }, indices);
		});
		add(writeBatch(fields, columns, options, rows), batches);
	}
	if (isFile) return writeFile(fields, dictionaryParts, batches, { physical: parts, options });
	return concat(writeSchema(fields, options), ...parts, endOfStream);
}

/** The same strings, but that their first offset is not 0. */
function beginElsewhere({ type }: Field, array: ArrayData, prng: Prng): ArrayData {
	const isLarge = type.kind === "large_utf8" || type.kind === "large_binary";
	const [validity, offsets, data] = array.buffers;
	if ((!isLarge && type.kind !== "utf8" && type.kind !== "binary") || prng.chance(0.7))
		return array;
	const before = 1 + prng.below(9);
	const shifted = isLarge
		? BigInt64Array.from(new BigInt64Array(offsets!.slice().buffer), (at) => at + BigInt(before))
		: Int32Array.from(new Int32Array(offsets!.slice().buffer), (at) => at + before);
	const longer = concat(new Uint8Array(before).fill(0xc3), data!.slice(), Uint8Array.of(0xa9));
	return { ...array, buffers: [validity!, bytesOf(shifted), longer] };
}

function compression(prng: Prng, chance = 0.2): Pick<WriteOptions, "compression"> {
	if (!prng.chance(chance)) return {};
	const keepsSome = (bytes: Uint8Array, packed: Uint8Array) =>
		packed.length < bytes.length || prng.chance(0.5) ? packed : null;
	return prng.chance(0.5)
		? { compression: { codec: 0, compress: (bytes) => keepsSome(bytes, lz4Frame(bytes)) } }
		: {
				compression: {
					codec: 1,
					compress: (bytes) => keepsSome(bytes, new Uint8Array(zstdCompressSync(bytes))),
				},
			};
}

const units = ["s", "ms", "us", "ns"] as const;
const bits = [8, 16, 32, 64] as const;

function scalarType(prng: Prng): ArrowType {
	const unit = prng.pick(units);
	return prng.pick<() => ArrowType>([
		() => ({ kind: prng.pick(["bool", "null"] as const) }),
		() => int(prng.pick(bits), prng.chance(0.5)),
		() => int(prng.pick(bits), prng.chance(0.5)),
		() => ({ kind: "float", bits: prng.pick([16, 32, 64] as const) }),
		() => ({ kind: prng.pick(["utf8", "large_utf8", "utf8_view"] as const) }),
		() => ({ kind: prng.pick(["utf8", "large_utf8", "utf8_view"] as const) }),
		() => ({ kind: prng.pick(["binary", "large_binary", "binary_view"] as const) }),
		() => ({ kind: "fixed_size_binary", byteWidth: prng.pick([1, 3, 8, 16]) }),
		() => decimalType(prng),
		() => ({ kind: "date", unit: prng.pick(["day", "ms"] as const) }),
		() =>
			unit === "s" || unit === "ms"
				? { kind: "time", bits: 32, unit }
				: { kind: "time", bits: 64, unit },
		() => ({ kind: "timestamp", unit, zone: prng.pick([null, null, "UTC", "Europe/Paris"]) }),
		() => ({ kind: "duration", unit }),
		() => ({ kind: "interval", unit: prng.pick(["month", "day_time", "month_day_nano"] as const) }),
	])();
}

function decimalType(prng: Prng): ArrowType {
	const width = prng.pick([32, 64, 128, 256] as const);
	const most = { 32: 9, 64: 18, 128: 38, 256: 76 }[width];
	const precision = 1 + prng.below(prng.chance(0.8) ? Math.min(most, 38) : most);
	return { kind: "decimal", bits: width, precision, scale: prng.below(precision + 1) };
}

function randomField(name: string, depth: number, prng: Prng, nextId: () => bigint): Field {
	const child = (childName: string) => randomField(childName, depth + 1, prng, nextId);
	const options = { nullable: prng.chance(0.9) };
	if (depth === 0 && prng.chance(0.12)) return extensionField(name, prng);
	if (depth < maxDepth && prng.chance(0.35)) {
		switch (prng.below(8)) {
			case 0:
			case 1: {
				const kind = prng.pick(["list", "large_list", "list_view", "large_list_view"] as const);
				return field(name, { kind }, { ...options, children: [child("item")] });
			}
			case 2:
				return field(
					name,
					{ kind: "fixed_size_list", size: prng.below(4) },
					{ ...options, children: [child("item")] },
				);
			case 3:
			case 4: {
				const children = Array.from({ length: 1 + prng.below(3) }, (_, i) => child(`m${i}`));
				return field(name, { kind: "struct" }, { ...options, children });
			}
			case 5: {
				const key = field("key", prng.chance(0.5) ? { kind: "utf8" } : int(32), {
					nullable: false,
				});
				const entries = field(
					"entries",
					{ kind: "struct" },
					{
						nullable: false,
						children: [key, child("value")],
					},
				);
				return field(name, { kind: "map", keysSorted: false }, { ...options, children: [entries] });
			}
			case 6: {
				const members = 1 + prng.below(3);
				const type: ArrowType = {
					kind: "union",
					mode: prng.pick(["dense", "sparse"] as const),
					typeIds: Array.from({ length: members }, (_, i) => i * 5),
				};
				const children = Array.from({ length: members }, (_, i) => child(`u${i}`));
				return field(name, type, { ...options, children });
			}
			default: {
				const ends = field("run_ends", int(prng.pick([16, 32, 64] as const)), { nullable: false });
				return field(
					name,
					{ kind: "run_end_encoded" },
					{
						...options,
						children: [ends, field("values", scalarType(prng))],
					},
				);
			}
		}
	}
	const type = scalarType(prng);
	if (depth === 0 && type.kind !== "null" && prng.chance(0.15)) {
		const indexType = int(prng.pick(bits), prng.chance(0.5)) as IndexType;
		return field(name, type, { dictionary: { id: nextId(), indexType, ordered: false } });
	}
	return field(name, type, options);
}

function extensionField(name: string, prng: Prng): Field {
	const double = (childName: string) => field(childName, { kind: "float", bits: 64 });
	const duckdb = (type: string) => JSON.stringify({ type_name: type, vendor_name: "DuckDB" });
	const point = prng.chance(0.5)
		? { type: { kind: "struct" } as const, children: [double("x"), double("y")] }
		: { type: { kind: "fixed_size_list", size: 2 } as const, children: [double("xy")] };
	return prng.pick<() => Field>([
		() => field(name, { kind: "utf8" }, { metadata: extension("arrow.json") }),
		() =>
			field(
				name,
				{ kind: "fixed_size_binary", byteWidth: 16 },
				{ metadata: extension("arrow.uuid") },
			),
		() => field(name, int(8), { metadata: extension("arrow.bool8") }),
		() =>
			field(
				name,
				{ kind: "fixed_size_binary", byteWidth: 16 },
				{ metadata: extension("arrow.opaque", duckdb("hugeint")) },
			),
		() => field(name, { kind: "binary" }, { metadata: extension("geoarrow.wkb") }),
		() => field(name, { kind: "utf8_view" }, { metadata: extension("geoarrow.wkt") }),
		() =>
			field(name, point.type, { children: point.children, metadata: extension("geoarrow.point") }),
		() =>
			field(
				name,
				{ kind: "list" },
				{
					children: [field("item", point.type, { children: point.children })],
					metadata: extension("geoarrow.linestring"),
				},
			),
	])();
}

const words = [
	"",
	"a",
	"né",
	"日本",
	"x".repeat(13),
	"long enough to leave its view",
	"{}",
	"[1,2]",
];
const wkts = ["POINT (1 2)", "LINESTRING (0 0, 1 1)", "POLYGON EMPTY", "MULTIPOINT Z (1 2 3)"];
const wkbPoint = Uint8Array.from([1, 1, 0, 0, 0, ...new Uint8Array(16)]);

function randomValue(of: Field, prng: Prng): unknown {
	if (of.nullable && prng.chance(0.2)) return null;
	const { type, children } = of;
	const name = new TextDecoder().decode(of.metadata.get("ARROW:extension:name"));
	if (name === "arrow.json") return prng.pick(["{}", "[1,2]", '"x"', "null", '{"a":[true]}']);
	if (name === "geoarrow.wkb") return wkbPoint;
	if (name === "geoarrow.wkt") return prng.pick(wkts);
	const some = <T>(value: () => T) => Array.from({ length: prng.below(4) }, value);
	switch (type.kind) {
		case "null":
			return null;
		case "bool":
			return prng.chance(0.5);
		case "int":
			return randomInteger(type.bits, type.signed, prng);
		case "float":
			if (type.bits === 16) return prng.below(65_536);
			return prng.pick([0, -1.5, 1e10, Number.NaN, Infinity, prng.uint32() / 7]);
		case "decimal": {
			const digits = Math.min(1 + prng.below(type.precision), 38);
			const value = BigInt(`${1 + prng.below(9)}${"7".repeat(digits - 1)}`);
			return prng.chance(0.5) ? -value : value;
		}
		case "date":
			return type.unit === "day"
				? prng.below(40_000) - 20_000
				: BigInt(prng.below(40_000) - 20_000) * 86_400_000n;
		case "time": {
			const seconds = prng.below(86_400);
			const scale = { s: 1n, ms: 1_000n, us: 1_000_000n, ns: 1_000_000_000n }[type.unit];
			return BigInt(seconds) * scale;
		}
		case "timestamp":
		case "duration":
			return BigInt(prng.uint32()) * (prng.chance(0.5) ? 1n : -1n);
		case "interval":
			if (type.unit === "month") return prng.below(1_000) - 500;
			if (type.unit === "day_time") {
				return (BigInt(prng.below(86_400_000)) << 32n) | BigInt(prng.below(1_000));
			}
			return (BigInt(prng.uint32()) << 64n) | BigInt(prng.below(1_000));
		case "utf8":
		case "large_utf8":
		case "utf8_view":
			return prng.pick(words);
		case "binary":
		case "large_binary":
		case "binary_view":
			return new Uint8Array(prng.below(20)).map(() => prng.below(256));
		case "fixed_size_binary":
			return new Uint8Array(type.byteWidth).map(() => prng.below(256));
		case "list":
		case "large_list":
		case "list_view":
		case "large_list_view":
			return some(() => randomValue(children[0]!, prng));
		case "fixed_size_list":
			return Array.from({ length: type.size }, () => randomValue(children[0]!, prng));
		case "struct":
			return Object.fromEntries(children.map((child) => [child.name, randomValue(child, prng)]));
		case "map": {
			const [key, value] = children[0]!.children;
			const entries = some(() => [randomValue(key!, prng), randomValue(value!, prng)]);
			return [...new Map(entries as [unknown, unknown][])];
		}
		case "union": {
			const member = prng.below(children.length);
			return { member, value: randomValue(children[member]!, prng) };
		}
		case "run_end_encoded":
			return randomValue(children[1]!, prng);
	}
}

function randomInteger(width: number, signed: boolean, prng: Prng): bigint {
	const raw = (BigInt(prng.uint32()) << 32n) | BigInt(prng.uint32());
	const small = prng.chance(0.5) ? BigInt(prng.below(100)) : raw;
	return signed ? BigInt.asIntN(width, small) : BigInt.asUintN(width, small);
}
