/**
 * The type null below a fixed-size list, as an INTEGER that is null in every element.
 *
 * DuckDB 1.5.5 scans it wrongly in an ARRAY that lies in a list or map: of more than 2,048 elements
 * those after them come out as zeros. INTEGER is what a null column becomes in a table anyway.
 */

import { allocateBitmap } from "../array/bitmap.ts";
import type { Codecs } from "../codecs.ts";
import type { Field } from "../types.ts";
import type { FieldForm } from "./form-context.ts";

export function nullsForm(field: Field, codecs: Codecs): FieldForm {
	return {
		field: { ...field, type: { kind: "int", bits: 32, signed: true } },
		convert: ({ length }) => ({
			length,
			nullCount: length,
			buffers: [allocateBitmap(length, codecs), codecs.allocate(length * 4).fill(0)],
			children: [],
			dictionary: null,
		}),
	};
}
