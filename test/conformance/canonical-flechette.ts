/**
 * Values as flechette reads them, an Arrow reader of other authors, in the common
 * notation. Leaves are taken from its batches' raw values: its own accessors make
 * milliseconds of timestamps and lose their digits.
 *
 * It reads storage: it knows no extension type. Big-endian streams it does not swap.
 */

import { zstdDecompressSync } from "node:zlib";
import { CompressionType, setCompressionCodec, Type, tableFromIPC } from "@uwdata/flechette";
import {
	binary,
	type Canonical,
	days,
	decimal,
	float,
	floorDivide,
	integer,
	interval,
	map,
	nanosecondsPer,
	text,
	timeNs,
	timestampNs,
} from "./canonical.ts";
import { unpackLz4 } from "./plain-lz4.ts";

/** What is used of flechette's batches, which its types don't say. */
interface Batch {
	length: number;
	nullCount: number;
	type: FlechetteType;
	values: Uint8Array & ArrayLike<number | bigint>;
	offsets: ArrayLike<number | bigint>;
	sizes: ArrayLike<number | bigint>;
	children: Batch[];
	typeIds: Int8Array;
	dictionary: { data: Batch[]; length: number };
	at(index: number): unknown;
	isValid(index: number): boolean;
}

interface FlechetteField {
	name: string;
	type: FlechetteType;
}

interface FlechetteType {
	typeId: number;
	unit?: number;
	precision?: number;
	scale?: number;
	stride?: number;
	typeIds?: number[];
	mode?: number;
	children: FlechetteField[];
}

export interface FlechetteTable {
	names: string[];
	/** Extension names by column; null: none. */
	extensions: (string | null)[];
	/** Names of the innermost numbers by column: `x y z`, or one name of them all. */
	leaves: string[][];
	columns: Canonical[][];
}

const encode = () => {
	throw new Error("nothing is written here");
};
setCompressionCodec(CompressionType.ZSTD, {
	encode,
	decode: (data: Uint8Array) => new Uint8Array(zstdDecompressSync(data)),
});
setCompressionCodec(CompressionType.LZ4_FRAME, { encode, decode: unpackLz4 });

export function readFlechette(bytes: Uint8Array): FlechetteTable {
	elements = 0;
	const table = tableFromIPC(bytes, { useBigInt: true, useDecimalInt: true, useMap: true });
	return {
		names: table.names,
		extensions: table.schema.fields.map(
			(field) => field.metadata?.get("ARROW:extension:name") ?? null,
		),
		leaves: table.schema.fields.map((field) => leafNames(field as unknown as FlechetteField)),
		columns: table.children.map((column) =>
			(column.data as unknown as Batch[]).flatMap((batch) => {
				spend(batch.length);
				return Array.from({ length: batch.length }, (_, i) => valueAt(batch, i));
			}),
		),
	};
}

const units = [nanosecondsPer.s, nanosecondsPer.ms, nanosecondsPer.us, nanosecondsPer.ns];

/**
 * flechette follows any offsets. Damaged or big-endian ones make billions of
 * elements of nothing, which no reference is worth.
 */
const mostElements = 4_000_000;
let elements = 0;

function spend(count: number): void {
	elements += Math.max(count, 0);
	if (elements > mostElements) throw new Error(`over ${mostElements} elements`);
}

function valueAt(batch: Batch, i: number): Canonical {
	const { type } = batch;
	if (type.typeId === Type.Null) return null;
	const isUnion = type.typeId === Type.Union || type.typeId === Type.RunEndEncoded;
	if (!isUnion && batch.at(i) === null) return null;
	const number = () => BigInt(batch.values[i]!);
	const child = (at: number, index: number) => valueAt(batch.children[at]!, index);
	const range = (from: number, to: number) => {
		spend(to - from);
		return Array.from({ length: to - from }, (_, k) => child(0, from + k));
	};
	const offset = (index: number) => Number(batch.offsets[index]);
	switch (type.typeId) {
		case Type.Dictionary: {
			let key = Number(batch.values[i]);
			for (const part of batch.dictionary.data) {
				if (key < part.length) return valueAt(part, key);
				key -= part.length;
			}
			throw new Error(`dictionary key ${batch.values[i]} is out of range`);
		}
		case Type.Int:
			return integer(batch.at(i) as number | bigint);
		case Type.Float:
			return float(batch.at(i) as number);
		case Type.Bool:
			return batch.at(i) as boolean;
		case Type.Utf8:
		case Type.LargeUtf8:
		case Type.Utf8View:
			return text(batch.at(i) as string);
		case Type.Binary:
		case Type.LargeBinary:
		case Type.BinaryView:
		case Type.FixedSizeBinary:
			return binary(batch.at(i) as Uint8Array);
		case Type.Decimal:
			return decimal(BigInt(batch.at(i) as number | bigint), type.scale!);
		case Type.Date:
			// Unit 0 is days, 1 milliseconds.
			return days(type.unit === 0 ? number() : floorDivide(number(), 86_400_000n));
		case Type.Time:
			return timeNs(number() * units[type.unit!]!);
		case Type.Timestamp:
			return timestampNs(number() * units[type.unit!]!);
		case Type.Duration:
			return interval(0, 0, number() * units[type.unit!]!);
		case Type.Interval: {
			const parts = batch.at(i) as ArrayLike<number>;
			if (type.unit === 0) return interval(Number(batch.values[i]), 0, 0n);
			if (type.unit === 1) return interval(0, parts[0]!, BigInt(parts[1]!) * nanosecondsPer.ms);
			return interval(parts[0]!, parts[1]!, BigInt(parts[2]!));
		}
		case Type.List:
		case Type.LargeList:
			return range(offset(i), offset(i + 1));
		case Type.ListView:
		case Type.LargeListView:
			return range(offset(i), offset(i) + Number(batch.sizes[i]));
		case Type.FixedSizeList:
			return range(i * type.stride!, (i + 1) * type.stride!);
		case Type.Map: {
			const [keys, values] = batch.children[0]!.children;
			const entries: [Canonical, Canonical][] = [];
			spend(offset(i + 1) - offset(i));
			for (let k = offset(i); k < offset(i + 1); k++) {
				entries.push([valueAt(keys!, k), valueAt(values!, k)]);
			}
			return map(entries);
		}
		case Type.Struct:
			return Object.fromEntries(type.children.map(({ name }, at) => [name, child(at, i)]));
		case Type.Union: {
			const at = type.typeIds!.indexOf(batch.typeIds[i]!);
			const item = child(at, type.mode === 1 ? offset(i) : i);
			return item === null ? null : { [type.children[at]!.name]: item };
		}
		case Type.RunEndEncoded: {
			const ends = batch.children[0]!.values;
			let run = 0;
			while (Number(ends[run]) <= i) run++;
			return child(1, run);
		}
		default:
			throw new Error(`no notation for flechette's type ${type.typeId}`);
	}
}

function leafNames({ type }: FlechetteField): string[] {
	const children = type.children ?? [];
	if (children.length === 1 && children[0]!.type.children?.length) return leafNames(children[0]!);
	return children.map((child) => child.name);
}
