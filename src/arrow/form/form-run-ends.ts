/** Run-end encoding made plain: each row gets the value of its run. */

import { isValid } from "../array/bitmap.ts";
import { readRunEnds } from "../check/check-run-ends.ts";
import { unfoldedField } from "../check/unfolded-field.ts";
import type { Field, IndexType } from "../types.ts";
import { elementPositions } from "./element-offsets.ts";
import { elementContext, type FieldForm, type FormContext } from "./form-context.ts";
import { unfoldedForm } from "./form-dictionary.ts";

export function runEndForm(field: Field, context: FormContext): FieldForm {
	const [ends, values] = field.children as [Field, Field];
	const endType = ends.type as IndexType;
	const plain = context.plan(unfoldedField(field, values), elementContext(context, ""));
	const unfolded = unfoldedForm(plain, context);
	return {
		field: unfolded.field,
		convert(array, mask) {
			const { length } = array;
			const runEnds = readRunEnds(array.children[0]!, endType);
			const positions = elementPositions(length, context.codecs);
			for (let row = 0, run = 0; row < length; row++) {
				while (runEnds[run]! <= row) run++;
				positions[row] = isValid(mask, row) ? run : -1;
			}
			const converted = unfolded.prepare(plain.convert(array.children[1]!, null));
			return unfolded.take(converted, positions);
		},
	};
}
