/**
 * Unions as the engine scans them: sparse, type ids equal to positions, every
 * member null where another one is selected.
 *
 * A dense union's children are unfolded to one value a row. A null of metadata
 * V4's bitmap, or of a parent, is a null of the first member.
 */

import { IngestError } from "../../errors.ts";
import { allocateBitmap, isValid, setBit } from "../array/bitmap.ts";
import { int32View } from "../array/buffer-views.ts";
import { childOfTypeId, typeIdsAt } from "../check/check-unions.ts";
import { typeName } from "../type-name.ts";
import type { Field } from "../types.ts";
import { elementPositions } from "./element-offsets.ts";
import { elementContext, type FieldForm, type FormContext, memberContext } from "./form-context.ts";
import { checkMemberNames } from "./form-struct.ts";
import { takeRows } from "./take-rows.ts";

/** DuckDB's union tags are uint8. */
const maxMembers = 256;

export function unionForm(field: Field, context: FormContext): FieldForm {
	const { type } = field;
	if (type.kind !== "union") throw new IngestError("internal", `${type.kind} is no union`);
	checkMemberNames(field, context);
	if (field.children.length > maxMembers) {
		throw new IngestError(
			"unsupported_type",
			`column ${context.path}: a union of ${field.children.length} members, DuckDB has at most ${maxMembers}`,
			{ column: context.path, arrow_type: typeName(field) },
		);
	}
	const { codecs } = context;
	const members = field.children.map((child) =>
		context.plan(
			child,
			type.mode === "sparse"
				? memberContext(context, child.name)
				: elementContext(context, `.${child.name}`),
		),
	);
	const childOf = childOfTypeId(type);
	const engineField: Field = {
		...field,
		type: { kind: "union", mode: "sparse", typeIds: members.map((_, position) => position) },
		children: members.map((member) => nullable(member.field)),
	};
	return {
		field: engineField,
		convert(array, mask) {
			const { length } = array;
			const first = typeIdsAt(array, type);
			const own = first === 1 && array.nullCount > 0 ? array.buffers[0]! : null;
			const ids = array.buffers[first]!;
			const selected = codecs.allocate(length);
			const shown = members.map(() => allocateBitmap(length, codecs));
			for (let i = 0; i < length; i++) {
				const valid = isValid(own, i) && isValid(mask, i);
				const child = valid ? childOf[((ids[i]! << 24) >> 24) + 128]! : 0;
				selected[i] = child;
				if (valid) setBit(shown[child]!, i);
			}
			const children = members.map((member, position) => {
				const child = array.children[position]!;
				if (type.mode === "sparse") return member.convert(child, shown[position]!);
				const offsets = int32View(array.buffers[first + 1]!, length);
				const positions = elementPositions(length, codecs);
				for (let i = 0; i < length; i++) {
					positions[i] = isValid(shown[position]!, i) ? offsets[i]! : -1;
				}
				return takeRows(member.field, member.convert(child, null), positions, codecs);
			});
			return { length, nullCount: 0, buffers: [selected], children, dictionary: null };
		},
	};
}

function nullable(field: Field): Field {
	return field.nullable ? field : { ...field, nullable: true };
}
