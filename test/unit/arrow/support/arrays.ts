/** Builds arrays from plain values, and reads arrays of the engine's form back. Raw values: bigint for 64 bits and more, number below. */

import { fixedWidth } from "../../../../src/arrow/array/fixed-width.ts";
import type { Codecs } from "../../../../src/arrow/codecs.ts";
import type { ArrayData, ArrowType, Field, IndexType } from "../../../../src/arrow/types.ts";

export const plainCodecs: Codecs = {
	lz4Frame: () => {
		throw new Error("not here");
	},
	zstd: () => {
		throw new Error("not here");
	},
	createSha256: () => {
		throw new Error("not here");
	},
	allocate: (size) => new Uint8Array(size).fill(0xa5),
};

type FieldOptions = Partial<Omit<Field, "name" | "type">>;

export function field(name: string, type: ArrowType, options: FieldOptions = {}): Field {
	return {
		name,
		type,
		nullable: true,
		children: [],
		dictionary: null,
		metadata: new Map(),
		...options,
	};
}

export const int = (bits: 8 | 16 | 32 | 64, signed = true): IndexType => ({
	kind: "int",
	bits,
	signed,
});

export function extension(name: string, metadata = ""): Map<string, Uint8Array> {
	const encoder = new TextEncoder();
	return new Map([
		["ARROW:extension:name", encoder.encode(name)],
		["ARROW:extension:metadata", encoder.encode(metadata)],
	]);
}

export function bitmap(bits: readonly boolean[]): Uint8Array {
	const bytes = new Uint8Array(Math.ceil(bits.length / 8));
	bits.forEach((bit, i) => {
		if (bit) bytes[i >> 3]! |= 1 << (i & 7);
	});
	return bytes;
}

export function bytesOf(typed: ArrayBufferView): Uint8Array {
	return new Uint8Array(typed.buffer, typed.byteOffset, typed.byteLength);
}

/** Integers of any width, least significant byte first. */
export function ints(width: number, values: readonly (number | bigint)[]): Uint8Array {
	const bytes = new Uint8Array(values.length * width);
	values.forEach((value, i) => {
		let rest = BigInt.asUintN(width * 8, BigInt(value));
		for (let b = 0; b < width; b++, rest >>= 8n) bytes[i * width + b] = Number(rest & 0xffn);
	});
	return bytes;
}

const encoder = new TextEncoder();
const isNothing = (value: unknown): value is null | undefined =>
	value === null || value === undefined;

/** Null values become nulls. Struct values are objects, map values lists of [key, value], union values `{ member, value }`. */
export function arrayOf(of: Field, values: readonly unknown[]): ArrayData {
	const { length } = values;
	const valid = values.map((value) => !isNothing(value));
	const nullCount = valid.filter((bit) => !bit).length;
	const validity = nullCount === 0 ? null : bitmap(valid);
	const array = (buffers: (Uint8Array | null)[], children: ArrayData[] = []): ArrayData => ({
		length,
		nullCount,
		buffers: [validity, ...buffers],
		children,
		dictionary: null,
	});
	if (of.dictionary) {
		const distinct: unknown[] = [...new Set(values.filter((value) => !isNothing(value)))];
		const indices = values.map((value) => Math.max(0, distinct.indexOf(value)));
		const encoded = array([ints(of.dictionary.indexType.bits / 8, indices)]);
		return { ...encoded, dictionary: arrayOf({ ...of, dictionary: null }, distinct) };
	}
	const { type, children } = of;
	switch (type.kind) {
		case "null":
			return { length, nullCount: length, buffers: [], children: [], dictionary: null };
		case "bool":
			return array([bitmap(values.map(Boolean))]);
		case "float":
			if (type.bits === 16)
				return array([
					ints(
						2,
						values.map((value) => (value as number) ?? 0),
					),
				]);
			return array([
				bytesOf(
					(type.bits === 32 ? Float32Array : Float64Array).from(
						values.map((value) => (value as number) ?? 0),
					),
				),
			]);
		case "utf8":
		case "binary":
		case "large_utf8":
		case "large_binary": {
			const width = type.kind.startsWith("large") ? 8 : 4;
			const parts = values.map(bytesOfValue);
			return array([ints(width, offsetsOf(parts.map((part) => part.length))), joined(parts)]);
		}
		case "utf8_view":
		case "binary_view": {
			const parts = values.map(bytesOfValue);
			const long = parts.filter((part) => part.length > 12);
			const views = new Uint8Array(length * 16);
			let at = 0;
			parts.forEach((part, i) => {
				views.set(ints(4, [part.length]), i * 16);
				views.set(part.subarray(0, part.length > 12 ? 4 : 12), i * 16 + 4);
				if (part.length <= 12) return;
				views.set(ints(4, [0, at]), i * 16 + 8);
				at += part.length;
			});
			return array(long.length > 0 ? [views, joined(long)] : [views]);
		}
		case "list":
		case "large_list":
		case "map": {
			const lists = values.map((value) => (value ?? []) as unknown[]);
			const elements =
				type.kind === "map"
					? (lists.flat() as [unknown, unknown][]).map((entry) => entryOf(of, entry))
					: lists.flat();
			const width = type.kind === "large_list" ? 8 : 4;
			return array(
				[ints(width, offsetsOf(lists.map((list) => list.length)))],
				[arrayOf(children[0]!, elements)],
			);
		}
		case "list_view":
		case "large_list_view": {
			const width = type.kind === "list_view" ? 4 : 8;
			const lists = values.map((value) => (value ?? []) as unknown[]);
			const sizes = lists.map((list) => list.length);
			return array(
				[ints(width, offsetsOf(sizes).slice(0, length)), ints(width, sizes)],
				[arrayOf(children[0]!, lists.flat())],
			);
		}
		case "fixed_size_list":
			return array(
				[],
				[
					arrayOf(
						children[0]!,
						values.flatMap((value) => (value as unknown[]) ?? Array(type.size).fill(null)),
					),
				],
			);
		case "struct":
			return array(
				[],
				children.map((child) =>
					arrayOf(
						child,
						values.map((value) => (value as Record<string, unknown> | null)?.[child.name] ?? null),
					),
				),
			);
		case "union":
			return unionOf(of, values as ({ member: number; value: unknown } | null)[]);
		case "run_end_encoded": {
			const runs: unknown[] = [];
			const ends: number[] = [];
			values.forEach((value, i) => {
				if (i > 0 && value === values[i - 1]) ends[ends.length - 1] = i + 1;
				else {
					runs.push(value);
					ends.push(i + 1);
				}
			});
			return {
				length,
				nullCount: 0,
				buffers: [],
				children: [arrayOf(children[0]!, ends), arrayOf(children[1]!, runs)],
				dictionary: null,
			};
		}
		case "fixed_size_binary":
			return array([
				joined(
					values.map((value) => (value as Uint8Array | null) ?? new Uint8Array(type.byteWidth)),
				),
			]);
		default:
			return array([
				ints(
					fixedWidth(type),
					values.map((value) => (value as number | bigint) ?? 0),
				),
			]);
	}
}

/** Null is a null of the first member. */
function unionOf(
	of: Field,
	sent: readonly ({ member: number; value: unknown } | null)[],
): ArrayData {
	const values = sent.map((value) => value ?? { member: 0, value: null });
	const { type, children } = of;
	if (type.kind !== "union") throw new Error("not a union");
	const ids = Uint8Array.from(values, ({ member }) => type.typeIds[member]!);
	const parts = children.map((_, position) =>
		type.mode === "sparse"
			? values.map(({ member, value }) => (member === position ? value : null))
			: values.filter(({ member }) => member === position).map(({ value }) => value),
	);
	const counts = children.map(() => 0);
	const offsets = values.map(({ member }) => counts[member]!++);
	return {
		length: values.length,
		nullCount: 0,
		buffers: type.mode === "sparse" ? [ids] : [ids, ints(4, offsets)],
		children: children.map((child, i) => arrayOf(child, parts[i]!)),
		dictionary: null,
	};
}

function entryOf(map: Field, [key, value]: [unknown, unknown]): Record<string, unknown> {
	const [keyField, valueField] = map.children[0]!.children;
	return { [keyField!.name]: key, [valueField!.name]: value };
}

function bytesOfValue(value: unknown): Uint8Array {
	if (isNothing(value)) return new Uint8Array(0);
	return typeof value === "string" ? encoder.encode(value) : (value as Uint8Array);
}

function offsetsOf(sizes: readonly number[]): number[] {
	const offsets = [0];
	for (const size of sizes) offsets.push(offsets.at(-1)! + size);
	return offsets;
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
	const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
	let at = 0;
	for (const part of parts) {
		bytes.set(part, at);
		at += part.length;
	}
	return bytes;
}

/** Values of an array without dictionaries, run ends, list views or dense unions. */
export function valuesOf(of: Field, array: ArrayData): unknown[] {
	return Array.from({ length: array.length }, (_, i) => valueAt(of, array, i));
}

function valueAt(of: Field, array: ArrayData, i: number): unknown {
	const { type, children } = of;
	if (type.kind === "null") return null;
	if (type.kind !== "union" && array.nullCount > 0 && !bitAt(array.buffers[0]!, i)) return null;
	const offset = (at: number, width = 4) => Number(intAt(array.buffers[1]!, width, true, at));
	const list = (from: number, to: number) =>
		Array.from({ length: to - from }, (_, k) =>
			valueAt(children[0]!, array.children[0]!, from + k),
		);
	switch (type.kind) {
		case "bool":
			return bitAt(array.buffers[1]!, i);
		case "float": {
			const view = new DataView(array.buffers[1]!.buffer, array.buffers[1]!.byteOffset);
			return type.bits === 32 ? view.getFloat32(i * 4, true) : view.getFloat64(i * 8, true);
		}
		case "utf8":
		case "binary":
		case "large_utf8":
		case "large_binary": {
			const width = type.kind.startsWith("large") ? 8 : 4;
			return textOrBytes(
				type.kind,
				array.buffers[2]!.subarray(offset(i, width), offset(i + 1, width)),
			);
		}
		case "utf8_view":
		case "binary_view": {
			const views = array.buffers[1]!;
			const word = (w: number) => Number(intAt(views, 4, true, i * 4 + w));
			const size = word(0);
			const bytes =
				size <= 12
					? views.subarray(i * 16 + 4, i * 16 + 4 + size)
					: array.buffers[2 + word(2)]!.subarray(word(3), word(3) + size);
			return textOrBytes(type.kind, bytes);
		}
		case "list":
			return list(offset(i), offset(i + 1));
		case "large_list":
			return list(offset(i, 8), offset(i + 1, 8));
		case "map":
			return list(offset(i), offset(i + 1)).map((entry) => Object.values(entry as object));
		case "fixed_size_list":
			return list(i * type.size, (i + 1) * type.size);
		case "struct":
			return Object.fromEntries(
				children.map((child, k) => [child.name, valueAt(child, array.children[k]!, i)]),
			);
		case "union": {
			const member = array.buffers[0]![i]!;
			return { member, value: valueAt(children[member]!, array.children[member]!, i) };
		}
		case "fixed_size_binary":
			return array.buffers[1]!.slice(i * type.byteWidth, (i + 1) * type.byteWidth);
		case "interval":
			if (type.unit === "month_day_nano") {
				const words = array.buffers[1]!;
				return [
					intAt(words, 4, true, i * 4),
					intAt(words, 4, true, i * 4 + 1),
					intAt(words, 8, true, i * 2 + 1),
				];
			}
	}
	const signed = type.kind !== "int" || type.signed;
	return intAt(array.buffers[1]!, fixedWidth(type), signed, i);
}

function textOrBytes(kind: string, bytes: Uint8Array): unknown {
	return kind.includes("utf8")
		? new TextDecoder("utf-8", { fatal: true }).decode(bytes)
		: bytes.slice();
}

function bitAt(bytes: Uint8Array, i: number): boolean {
	return ((bytes[i >> 3]! >> (i & 7)) & 1) === 1;
}

function intAt(bytes: Uint8Array, width: number, signed: boolean, i: number): number | bigint {
	let value = 0n;
	for (let b = width - 1; b >= 0; b--) value = (value << 8n) | BigInt(bytes[i * width + b]!);
	if (signed) value = BigInt.asIntN(width * 8, value);
	return width < 8 ? Number(value) : value;
}
