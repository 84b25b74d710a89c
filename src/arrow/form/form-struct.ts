/** Structs: each member in its form, null wherever the struct is. */

import { IngestError } from "../../errors.ts";
import { typeName } from "../type-name.ts";
import type { Field } from "../types.ts";
import { type FieldForm, type FormContext, memberContext } from "./form-context.ts";
import { maskArray, validityMask } from "./mask-array.ts";

export function structForm(field: Field, context: FormContext): FieldForm {
	checkMemberNames(field, context);
	const { codecs } = context;
	const members = field.children.map((child) =>
		context.plan(child, memberContext(context, child.name)),
	);
	return {
		field: { ...field, children: members.map((member) => member.field) },
		convert(sent, mask) {
			const array = maskArray(sent, field.type, mask, codecs);
			const down = validityMask(array);
			const children = members.map((member, i) => member.convert(array.children[i]!, down));
			return { ...array, children };
		},
	};
}

/**
 * DuckDB has no struct or union without members or with one unnamed, and takes
 * names that differ in ASCII case for one: in unions it then stores NULL.
 */
export function checkMemberNames(field: Field, context: FormContext): void {
	const place = { column: context.path, arrow_type: typeName(field) };
	const { kind } = field.type;
	if (field.children.length === 0) {
		throw new IngestError(
			"unsupported_type",
			`column ${context.path}: a ${kind} without members`,
			place,
		);
	}
	const seen = new Map<string, string>();
	for (const { name } of field.children) {
		if (name === "") {
			throw new IngestError(
				"unsupported_type",
				`column ${context.path}: a member of a ${kind} has no name`,
				place,
			);
		}
		const folded = name.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
		const other = seen.get(folded);
		if (other !== undefined) {
			throw new IngestError(
				"duplicate_column",
				`column ${context.path}: its members ${JSON.stringify(other)} and ${JSON.stringify(name)} have one name to DuckDB`,
				{ ...place, column: `${context.path}.${name}` },
			);
		}
		seen.set(folded, name);
	}
}
