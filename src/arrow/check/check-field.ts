/**
 * The check of one field at any depth: validity, then the layout of its type, its
 * extension, its children and its dictionary. One closure a field, made once.
 */

import { IngestError } from "../../errors.ts";
import type { Limits } from "../../limits.ts";
import { allocateBitmap, bitmapBytes, countNulls, isValid } from "../array/bitmap.ts";
import { needBuffer, needShape } from "../array/buffer-views.ts";
import { fixedWidth } from "../array/fixed-width.ts";
import type { Codecs } from "../codecs.ts";
import { checkExtensionStorage, extensionCheck } from "../extension-types.ts";
import { typeName } from "../type-name.ts";
import type { ArrayData, Field, IndexType } from "../types.ts";
import { decimalCheck } from "./check-decimals.ts";
import { checkIndices } from "./check-dictionary.ts";
import {
	checkFixedSizeLists,
	checkOffsetLists,
	checkViewLists,
	type RowOf,
	validityOf,
} from "./check-lists.ts";
import { mapKeysCheck } from "./check-map-keys.ts";
import { hiddenRow, type Place, refuseArray, unknownRow } from "./check-place.ts";
import { checkRunEnds } from "./check-run-ends.ts";
import { checkStrings } from "./check-strings.ts";
import { temporalCheck } from "./check-temporal.ts";
import { checkUnion } from "./check-unions.ts";
import { checkViews } from "./check-views.ts";
import { unfoldedField } from "./unfolded-field.ts";

export type Check = (array: ArrayData, place: Place) => void;

export interface CheckContext {
	limits: Limits;
	codecs: Codecs;
}

/** `depth` counts from 1; `path` is the column path, for messages. */
export function fieldCheck(
	field: Field,
	context: CheckContext,
	depth: number,
	path: string,
): Check {
	if (depth > context.limits.maxNesting) {
		throw new IngestError(
			"too_large",
			`column ${path} is nested deeper than ${context.limits.maxNesting} levels`,
			{ column: path },
		);
	}
	checkExtensionStorage(field, path);
	const values = field.dictionary
		? dictionaryCheck(field, context, depth, path)
		: valuesCheck(field, context, depth, path);
	const isPlain = !field.dictionary && field.type.kind !== "run_end_encoded";
	const extension = isPlain ? extensionCheck(field) : null;
	const hasValidity = field.dictionary !== null || !withoutValidity.has(field.type.kind);
	return (array, place) => {
		if (hasValidity) checkValidity(array, place, context.codecs);
		values(array, place);
		extension?.(array, place);
	};
}

/** Unions of metadata V4 do have one, which `valuesCheck` sees. */
const withoutValidity = new Set(["null", "union", "run_end_encoded"]);

/** Makes the null count exact. A count of zero beside a bitmap with nulls is refused: readers disagree on which counts. */
function checkValidity(array: ArrayData, place: Place, codecs: Codecs): void {
	const { length } = array;
	const validity = array.buffers[0] ?? null;
	if (validity === null || validity.length === 0) {
		if (array.nullCount > 0) {
			refuseArray(place, "invalid_arrow", `${array.nullCount} nulls without a validity buffer`);
		}
		array.buffers[0] = null;
		array.nullCount = 0;
		return;
	}
	needBuffer(array, 0, bitmapBytes(length), 1, "validity", place, codecs);
	const nulls = countNulls(validity, length);
	if (nulls > 0 && array.nullCount === 0) {
		refuseArray(
			place,
			"invalid_arrow",
			`a null count of 0 beside a validity buffer with ${nulls} nulls`,
		);
	}
	array.nullCount = nulls;
	// The engine reads a byte beyond the bits of nested arrays, which might not be this process's.
	if (validity.byteOffset + bitmapBytes(length) < validity.buffer.byteLength) return;
	const roomy = allocateBitmap(length, codecs);
	roomy.set(validity.subarray(0, bitmapBytes(length)));
	array.buffers[0] = roomy;
}

function valuesCheck(field: Field, context: CheckContext, depth: number, path: string): Check {
	const { codecs, limits } = context;
	const { type } = field;
	const child = (position: number, suffix: string) =>
		childCheck(field.children[position]!, context, depth + 1, path + suffix);
	switch (type.kind) {
		case "null":
			return (array, place) => {
				needShape(array, 0, 0, place);
				array.nullCount = array.length;
			};
		case "bool":
			return (array, place) => {
				needShape(array, 2, 0, place);
				needBuffer(array, 1, bitmapBytes(array.length), 1, "values", place, codecs);
			};
		case "int":
		case "float":
		case "fixed_size_binary": {
			const width = fixedWidth(type);
			const alignment = type.kind === "fixed_size_binary" ? 1 : width;
			return (array, place) => {
				needShape(array, 2, 0, place);
				needBuffer(array, 1, array.length * width, alignment, "values", place, codecs);
			};
		}
		case "decimal":
			return decimalCheck(type, codecs);
		case "date":
		case "time":
		case "timestamp":
		case "duration":
		case "interval":
			return temporalCheck(type, codecs);
		case "utf8":
		case "binary":
			return (array, place) => checkStrings(array, 4, type.kind === "utf8", place, codecs);
		case "large_utf8":
		case "large_binary":
			return (array, place) => checkStrings(array, 8, type.kind === "large_utf8", place, codecs);
		case "utf8_view":
		case "binary_view":
			return (array, place) =>
				checkViews(array, type.kind === "utf8_view", limits.maxBatchBytes, place, codecs);
		case "list":
		case "large_list": {
			const elements = child(0, "[]");
			const width = type.kind === "list" ? 4 : 8;
			return (array, place) =>
				elements(array.children[0]!, place, checkOffsetLists(array, width, place, codecs));
		}
		case "map": {
			const entries = child(0, "[]");
			const keys = mapKeysCheck(field);
			return (array, place) => {
				entries(array.children[0]!, place, checkOffsetLists(array, 4, place, codecs));
				keys(array, place);
			};
		}
		case "list_view":
		case "large_list_view": {
			const elements = child(0, "[]");
			const width = type.kind === "list_view" ? 4 : 8;
			return (array, place) =>
				elements(
					array.children[0]!,
					place,
					checkViewLists(array, width, limits.maxBatchBytes, place, codecs),
				);
		}
		case "fixed_size_list": {
			const elements = child(0, "[]");
			return (array, place) =>
				elements(array.children[0]!, place, checkFixedSizeLists(array, type.size, place));
		}
		case "struct": {
			const members = field.children.map((member, i) => child(i, `.${member.name}`));
			return (array, place) => {
				needShape(array, 1, members.length, place);
				const rowOf = rowsOfStruct(array, place);
				members.forEach((member, i) => {
					const values = array.children[i]!;
					if (values.length < array.length) {
						refuseArray(
							place,
							"invalid_arrow",
							`a child of ${values.length} values where the struct has ${array.length}`,
						);
					}
					values.length = array.length;
					member(values, place, rowOf);
				});
			};
		}
		case "union": {
			const members = field.children.map((member, i) => child(i, `.${member.name}`));
			return (array, place) => {
				const ofV4 = array.buffers.length > (type.mode === "dense" ? 2 : 1);
				if (ofV4) checkValidity(array, place, codecs);
				else array.nullCount = 0;
				const rows = checkUnion(array, type, place, codecs);
				members.forEach((member, i) => {
					member(array.children[i]!, place, rows[i]!);
				});
			};
		}
		case "run_end_encoded": {
			const endType = field.children[0]!.type as IndexType;
			const member = unfoldedField(field, field.children[1]!);
			const values = childCheck(member, context, depth + 1, path);
			return (array, place) => {
				array.nullCount = 0;
				const rowOf = checkRunEnds(array, endType, place, codecs);
				values(array.children[1]!, place, rowOf);
			};
		}
	}
}

/** The check of a child, which stands at a place of its own. */
function childCheck(
	field: Field,
	context: CheckContext,
	depth: number,
	path: string,
): (array: ArrayData, parent: Place, rowOf: RowOf) => void {
	const check = fieldCheck(field, context, depth, path);
	const arrowType = typeName(field);
	return (array, parent, rowOf) =>
		check(array, { column: path, arrowType, batch: parent.batch, rowOf });
}

function rowsOfStruct(array: ArrayData, place: Place): RowOf {
	const validity = validityOf(array);
	return (index) => (isValid(validity, index) ? place.rowOf(index) : hiddenRow);
}

/** Indices in every batch; the values once for each dictionary that was sent. */
function dictionaryCheck(field: Field, context: CheckContext, depth: number, path: string): Check {
	const { indexType } = field.dictionary!;
	const values = fieldCheck({ ...field, dictionary: null }, context, depth + 1, path);
	const seen = new WeakSet<ArrayData>();
	return (array, place) => {
		const { dictionary } = array;
		if (dictionary !== null && !seen.has(dictionary)) {
			values(dictionary, { ...place, rowOf: () => unknownRow });
			seen.add(dictionary);
		}
		checkIndices(array, indexType, place, context.codecs);
	};
}
