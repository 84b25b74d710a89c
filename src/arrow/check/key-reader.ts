/** Equality and hashes of the usual map keys, read where they lie: strings, and values of a fixed width. */

import { fixedWidth } from "../array/fixed-width.ts";
import { readOffsets } from "../array/offsets.ts";
import type { ArrayData, Field } from "../types.ts";
import { temporalKey } from "./temporal-key.ts";

export interface KeyReader {
	equal(a: number, b: number): boolean;
	/** 32 bits; equal keys have equal ones. */
	hash(index: number): number;
}

/** Null: keys of this field are compared as text (`value-key.ts`), floats because zero has two forms and NaN many, intervals because a day is 24 hours. */
export function keyReader(field: Field): ((keys: ArrayData) => KeyReader) | null {
	const { kind } = field.type;
	if (field.dictionary || kind === "float") return null;
	if (kind === "utf8" || kind === "binary") return (keys) => stringReader(keys, 4);
	if (kind === "large_utf8" || kind === "large_binary") return (keys) => stringReader(keys, 8);
	const width = fixedWidth(field.type);
	if (width === 0 || temporalKey(field.type) !== null) return null;
	return (keys) => {
		const bytes = keys.buffers[1]!;
		return {
			equal: (a, b) => equalBytes(bytes, a * width, b * width, width),
			hash: (index) => hashBytes(bytes, index * width, width),
		};
	};
}

function stringReader(keys: ArrayData, width: 4 | 8): KeyReader {
	const offsets = readOffsets(keys.buffers[1]!, width, keys.length + 1);
	const data = keys.buffers[2]!;
	const sizeOf = (index: number) => offsets[index + 1]! - offsets[index]!;
	return {
		equal: (a, b) =>
			sizeOf(a) === sizeOf(b) && equalBytes(data, offsets[a]!, offsets[b]!, sizeOf(a)),
		hash: (index) => hashBytes(data, offsets[index]!, sizeOf(index)),
	};
}

function equalBytes(bytes: Uint8Array, a: number, b: number, size: number): boolean {
	for (let i = 0; i < size; i++) if (bytes[a + i] !== bytes[b + i]) return false;
	return true;
}

/** FNV-1a, its high bits folded down: http://www.isthe.com/chongo/tech/comp/fnv/ */
function hashBytes(bytes: Uint8Array, start: number, size: number): number {
	let hash = 0x811c9dc5 | 0;
	for (let i = 0; i < size; i++) hash = Math.imul(hash ^ bytes[start + i]!, 0x01000193);
	return hash ^ (hash >>> 15);
}
