/**
 * Lists and maps. The engine scans every element between the first and the last
 * offset, under null lists too: those are left out by rewriting the list. List
 * views, and fixed-size lists of sizes without DDL, become lists.
 */

import { IngestError } from "../../errors.ts";
import { allocateBitmap, isValid, setBit } from "../array/bitmap.ts";
import { type OffsetWidth, readOffsets } from "../array/offsets.ts";
import type { Codecs } from "../codecs.ts";
import type { ArrayData, Field } from "../types.ts";
import { elementPositions, newOffsets } from "./element-offsets.ts";
import { elementContext, type FieldForm, type FormContext } from "./form-context.ts";
import { maskArray, validityMask } from "./mask-array.ts";
import { takeRows } from "./take-rows.ts";

/** The largest size of DuckDB's ARRAY type in DDL; `Binder Error: ARRAY type size must be at most 100000`. */
const maxArraySize = 100_000;

export function listForm(field: Field, context: FormContext): FieldForm {
	const element = context.plan(field.children[0]!, elementContext(context, "[]"));
	const engineField = { ...field, children: [element.field] };
	const width = field.type.kind === "large_list" ? 8 : 4;
	const { codecs } = context;
	return {
		field: engineField,
		convert(sent, mask) {
			const masked = maskArray(sent, field.type, mask, codecs);
			const array = { ...masked, children: [element.convert(masked.children[0]!, null)] };
			if (!holdsUnderNulls(array, width)) return array;
			const positions = elementPositions(array.length, codecs);
			for (let i = 0; i < positions.length; i++) positions[i] = i;
			return takeRows(engineField, array, positions, codecs);
		},
	};
}

function holdsUnderNulls(array: ArrayData, width: OffsetWidth): boolean {
	if (array.nullCount === 0) return false;
	const validity = array.buffers[0]!;
	const offsets = readOffsets(array.buffers[1]!, width, array.length + 1);
	for (let i = 0; i < array.length; i++) {
		if (offsets[i] !== offsets[i + 1] && !isValid(validity, i)) return true;
	}
	return false;
}

export function listViewForm(field: Field, context: FormContext): FieldForm {
	const element = context.plan(field.children[0]!, elementContext(context, "[]"));
	const width = field.type.kind === "large_list_view" ? 8 : 4;
	const { codecs } = context;
	return {
		field: { ...field, type: { kind: "list" }, children: [element.field] },
		convert(sent, mask) {
			const array = maskArray(sent, field.type, mask, codecs);
			const { length } = array;
			const validity = validityMask(array);
			const starts = readOffsets(array.buffers[1]!, width, length);
			const sizes = readOffsets(array.buffers[2]!, width, length);
			let total = 0;
			for (let i = 0; i < length; i++) if (isValid(validity, i)) total += sizes[i]!;
			const positions = elementPositions(total, codecs);
			const offsets = newOffsets(length, 4, total, codecs);
			let end = 0;
			for (let i = 0; i < length; i++) {
				if (isValid(validity, i)) {
					const start = starts[i]!;
					const size = sizes[i]!;
					for (let k = 0; k < size; k++) positions[end++] = start + k;
				}
				offsets.set(i + 1, end);
			}
			const child = element.convert(array.children[0]!, null);
			return {
				...array,
				buffers: [array.buffers[0] ?? null, offsets.bytes],
				children: [takeRows(element.field, child, positions, codecs)],
			};
		},
	};
}

export function fixedSizeListForm(field: Field, context: FormContext): FieldForm {
	const { type } = field;
	if (type.kind !== "fixed_size_list")
		throw new IngestError("internal", `${type.kind} is no fixed_size_list`);
	const { size } = type;
	const { codecs } = context;
	if (size > 0 && size <= maxArraySize) {
		const inArray = { ...elementContext(context, "[]"), inArray: true };
		const element = context.plan(field.children[0]!, inArray);
		return {
			field: { ...field, children: [element.field] },
			convert(sent, mask) {
				const array = maskArray(sent, type, mask, codecs);
				const down = elementMask(array, size, codecs);
				return { ...array, children: [element.convert(array.children[0]!, down)] };
			},
		};
	}
	const list = listForm({ ...field, type: { kind: "list" } }, context);
	return {
		field: list.field,
		convert(array, mask) {
			const offsets = newOffsets(array.length, 4, array.length * size, codecs);
			for (let i = 1; i <= array.length; i++) offsets.set(i, i * size);
			return list.convert({ ...array, buffers: [array.buffers[0] ?? null, offsets.bytes] }, mask);
		},
	};
}

/** Nulls of the lists as nulls of their elements. */
function elementMask(array: ArrayData, size: number, codecs: Codecs): Uint8Array | null {
	const validity = validityMask(array);
	if (validity === null) return null;
	const mask = allocateBitmap(array.length * size, codecs);
	for (let i = 0, at = 0; i < array.length; i++) {
		const valid = isValid(validity, i);
		for (let k = 0; k < size; k++, at++) if (valid) setBit(mask, at);
	}
	return mask;
}
