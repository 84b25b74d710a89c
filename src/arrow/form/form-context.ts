/** What the files that rewrite one type share, so that none needs the one that chooses among them. */

import type { Warning } from "../../flow.ts";
import type { Codecs } from "../codecs.ts";
import type { ArrayData, Field } from "../types.ts";

export interface FormContext {
	codecs: Codecs;
	warnings: Warning[];
	/** What one piece of a batch may unfold to, also where values are shared and take no memory. */
	maxBytes: number;
	/** Makes the form of a child: `form-field.ts`. */
	plan(field: Field, context: FormContext): FieldForm;
	/** Column path of the field. */
	path: string;
	/** Element i is shown by row i, and by no other. */
	elementsAreRows: boolean;
	/** Somewhere below a DuckDB ARRAY. */
	inArray: boolean;
	/** What is being converted: the batch as sent, and the row of it that element 0 is. */
	reading: { batch: number; firstRow: number };
}

export interface FieldForm {
	field: Field;
	/** `mask`: where a parent is null; the result is null there too. Null: nowhere. */
	convert(array: ArrayData, mask: Uint8Array | null): ArrayData;
}

/** For a child with one element for each of its parent's. Path as `a.x`. */
export function memberContext(context: FormContext, name: string): FormContext {
	return { ...context, path: `${context.path}.${name}` };
}

/** For a child whose elements are more or fewer. Path as `a[]`. */
export function elementContext(context: FormContext, suffix: string): FormContext {
	return { ...context, path: context.path + suffix, elementsAreRows: false };
}
