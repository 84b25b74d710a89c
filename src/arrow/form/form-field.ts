/** The engine's form of one field at any depth, by its type. */

import { IngestError } from "../../errors.ts";
import { refuseArray, unknownRow } from "../check/check-place.ts";
import { typeIdsAt } from "../check/check-unions.ts";
import type { Codecs } from "../codecs.ts";
import { engineExtension } from "../extension-types.ts";
import { extensionName, withoutExtension } from "../geo/geoarrow-metadata.ts";
import { type GeoPlan, geoPlan } from "../geoarrow.ts";
import { typeName } from "../type-name.ts";
import type { ArrowType, Field } from "../types.ts";
import type { FieldForm, FormContext } from "./form-context.ts";
import { date64Form } from "./form-dates.ts";
import { dictionaryForm } from "./form-dictionary.ts";
import { intervalForm } from "./form-intervals.ts";
import { fixedSizeListForm, listForm, listViewForm } from "./form-lists.ts";
import { nullsForm } from "./form-nulls.ts";
import { decimalForm, halfFloatForm } from "./form-numbers.ts";
import { runEndForm } from "./form-run-ends.ts";
import { structForm } from "./form-struct.ts";
import { unionForm } from "./form-unions.ts";
import { maskArray } from "./mask-array.ts";

export function planField(sent: Field, context: FormContext): FieldForm {
	const { codecs, path } = context;
	if (sent.name.includes("\0")) {
		throw new IngestError("invalid_arrow", `the name of column ${path} holds a NUL`, {
			column: path,
		});
	}
	if (sent.dictionary) return dictionaryForm(sent, context);
	if (sent.type.kind === "run_end_encoded") return runEndForm(sent, context);
	const geometry = geometryPlan(sent, context);
	if (geometry !== null) return geometry;
	const field = engineExtension(sent);
	const { type } = field;
	switch (type.kind) {
		case "float":
			return type.bits === 16 ? halfFloatForm(field, codecs) : asIs(field, codecs);
		case "decimal":
			return decimalForm(field, context) ?? asIs(field, codecs);
		case "date":
			return type.unit === "ms" ? date64Form(field, context) : asIs(field, codecs);
		case "timestamp":
			if (type.unit === "ns" && type.zone !== null) {
				context.warnings.push({
					code: "timestamp_ns_tz_truncated",
					column: path,
					detail: `${typeName(field)} becomes TIMESTAMP WITH TIME ZONE, which holds microseconds`,
				});
			}
			return asIs(field, codecs);
		case "duration":
		case "interval":
			return intervalForm(field, context) ?? asIs(field, codecs);
		case "null":
			return context.inArray ? nullsForm(field, codecs) : asIs(field, codecs);
		case "list":
		case "large_list":
		case "map":
			return listForm(field, context);
		case "list_view":
		case "large_list_view":
			return listViewForm(field, context);
		case "fixed_size_list":
			return fixedSizeListForm(field, context);
		case "struct":
			return structForm(field, context);
		case "union":
			return unionForm(field, context);
		default:
			return asIs(field, codecs);
	}
}

/**
 * Null: no geometry. List views, run ends and dictionaries inside one,
 * which GeoArrow's encodings don't have, are made plain before it is read.
 */
function geometryPlan(sent: Field, context: FormContext): FieldForm | null {
	const { codecs, path } = context;
	if (
		!extensionName(sent)?.startsWith("geoarrow.") ||
		!(isRewritten(sent.type.kind) || sent.children.some(isEncoded))
	) {
		const geo = geoPlan(sent, codecs, path);
		return geo === null ? null : geometryForm(geo, sent, context);
	}
	const storage = planField({ ...sent, metadata: withoutExtension(sent.metadata) }, context);
	const geo = geoPlan({ ...storage.field, metadata: sent.metadata }, codecs, path);
	if (geo === null) return null;
	const form = geometryForm(geo, storage.field, context);
	return {
		field: form.field,
		convert: (array, mask) => form.convert(storage.convert(array, mask), mask),
	};
}

function isEncoded({ type, dictionary, children }: Field): boolean {
	return dictionary !== null || isRewritten(type.kind) || children.some(isEncoded);
}

function isRewritten(kind: ArrowType["kind"]): boolean {
	return kind === "list_view" || kind === "large_list_view" || kind === "run_end_encoded";
}

function geometryForm(geo: GeoPlan, field: Field, context: FormContext): FieldForm {
	const { codecs, warnings, path, reading } = context;
	const { type } = field;
	const arrowType = typeName(field);
	const rowOf = context.elementsAreRows
		? (row: number) => reading.firstRow + row
		: () => unknownRow;
	warnings.push(...geo.warnings);
	// The plan's own list grows with the values it meets.
	let told = geo.warnings.length;
	return {
		field: geo.field,
		convert(array, mask) {
			const place = { column: path, arrowType, batch: reading.batch, rowOf };
			if (type.kind === "union" && typeIdsAt(array, type) === 1) {
				refuseArray(place, "unsupported_type", "a union of geometries with nulls of its own");
			}
			const converted = geo.convert(maskArray(array, type, mask, codecs), place);
			for (; told < geo.warnings.length; told++) warnings.push(geo.warnings[told]!);
			return maskArray(converted, geo.field.type, mask, codecs);
		},
	};
}

function asIs(field: Field, codecs: Codecs): FieldForm {
	return { field, convert: (array, mask) => maskArray(array, field.type, mask, codecs) };
}
