/**
 * Dictionaries unpacked. Strings and binaries become views that point into the
 * dictionary's own bytes: 16 bytes a row, and a long value that a million rows
 * share stays one. Other values are copied, within the limit of a batch.
 */

import { IngestError } from "../../errors.ts";
import { isValid } from "../array/bitmap.ts";
import { int32View } from "../array/buffer-views.ts";
import { readOffsets } from "../array/offsets.ts";
import { indexView, indices64 } from "../check/check-dictionary.ts";
import type { ArrayData, Field } from "../types.ts";
import { elementPositions } from "./element-offsets.ts";
import { elementContext, type FieldForm, type FormContext } from "./form-context.ts";
import { validityMask } from "./mask-array.ts";
import { takeRows } from "./take-rows.ts";

export function dictionaryForm(field: Field, context: FormContext): FieldForm {
	const { indexType } = field.dictionary!;
	const { codecs } = context;
	const plain = context.plan({ ...field, dictionary: null }, elementContext(context, ""));
	const unfolded = unfoldedForm(plain, context);
	// One converted dictionary is kept: batches that follow mostly share it.
	let last: { sent: ArrayData; converted: ArrayData } | null = null;
	return {
		field: unfolded.field,
		convert(array, mask) {
			const { length, dictionary } = array;
			const positions = elementPositions(length, codecs);
			if (dictionary === null) positions.fill(-1);
			else {
				const bytes = array.buffers[1]!;
				const indices =
					indexType.bits === 64 ? indices64(bytes, length) : indexView(bytes, indexType, length);
				const validity = validityMask(array);
				if (validity === null && mask === null) positions.set(indices);
				else {
					for (let i = 0; i < length; i++) {
						positions[i] = isValid(validity, i) && isValid(mask, i) ? indices[i]! : -1;
					}
				}
				if (last?.sent !== dictionary) {
					last = { sent: dictionary, converted: unfolded.prepare(plain.convert(dictionary, null)) };
				}
			}
			return unfolded.take(last?.converted ?? unfolded.prepare(emptyArray(plain.field)), positions);
		},
	};
}

export interface UnfoldedForm {
	field: Field;
	/** Once for values that are taken from many times. */
	prepare(values: ArrayData): ArrayData;
	/** `values` as `prepare` made them. */
	take(values: ArrayData, positions: Int32Array): ArrayData;
}

/** How values in `plain`'s form are repeated: strings as views, all else by copying. */
export function unfoldedForm(plain: FieldForm, context: FormContext): UnfoldedForm {
	const { codecs } = context;
	const { kind } = plain.field.type;
	const viewKind = kind === "utf8" || kind === "large_utf8" ? "utf8_view" : "binary_view";
	const asViews =
		kind === "utf8" || kind === "large_utf8" || kind === "binary" || kind === "large_binary";
	const field: Field = asViews ? { ...plain.field, type: { kind: viewKind } } : plain.field;
	return {
		field,
		prepare: (values) =>
			asViews
				? viewsOf(values, kind === "large_utf8" || kind === "large_binary" ? 8 : 4, context)
				: values,
		take(values, positions) {
			const taken = takeRows(field, values, positions, codecs);
			if (asViews) checkShown(taken, context.maxBytes);
			return taken;
		},
	};
}

/** One long value that many rows share takes no memory here, and all of it in the table. */
function checkShown(array: ArrayData, maxBytes: number): void {
	const views = int32View(array.buffers[1]!, array.length * 4);
	let total = 0;
	for (let w = 0; w < views.length; w += 4) total += views[w]!;
	if (total > maxBytes) {
		throw new IngestError(
			"too_large",
			`values that unfold to ${total} bytes, at most ${maxBytes} are taken`,
			{
				extra: { limit: maxBytes },
			},
		);
	}
}

/** The views that stand for an array of strings; its bytes are not copied. */
function viewsOf(array: ArrayData, width: 4 | 8, context: FormContext): ArrayData {
	const { length } = array;
	const bytes = context.codecs.allocate(length * 16).fill(0);
	const views = int32View(bytes);
	const offsets = readOffsets(array.buffers[1]!, width, length + 1);
	const data = array.buffers[2]!;
	const validity = validityMask(array);
	const windows: Uint8Array[] = [];
	// Views hold int32 offsets: data beyond 2^31 is seen through more than one window.
	let base = 0;
	let limit = 0;
	for (let i = 0; i < length; i++) {
		const start = offsets[i]!;
		const size = isValid(validity, i) ? offsets[i + 1]! - start : 0;
		const at = i * 16;
		views[i * 4] = size;
		if (size <= 12) {
			for (let b = 0; b < size; b++) bytes[at + 4 + b] = data[start + b]!;
			continue;
		}
		if (windows.length === 0 || start + size > limit) {
			base = start;
			limit = Math.min(data.length, base + 0x7fff_ffff);
			windows.push(data.subarray(base, limit));
		}
		for (let b = 0; b < 4; b++) bytes[at + 4 + b] = data[start + b]!;
		views[i * 4 + 2] = windows.length - 1;
		views[i * 4 + 3] = start - base;
	}
	return {
		length,
		nullCount: array.nullCount,
		buffers: [array.buffers[0] ?? null, bytes, ...windows],
		children: [],
		dictionary: null,
	};
}

/** No values: what a dictionary that was never sent stands for, where every index is null. */
function emptyArray(field: Field): ArrayData {
	const children = field.children.map(emptyArray);
	const none = () => new Uint8Array(8);
	const buffers =
		field.type.kind === "null"
			? []
			: field.type.kind === "union"
				? [none()]
				: [null, none(), none()];
	return { length: 0, nullCount: 0, buffers, children, dictionary: null };
}
