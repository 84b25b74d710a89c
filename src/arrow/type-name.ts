/** A field's type as people who write Arrow know it, in pyarrow's spelling: for receipts and errors. */

import type { ArrowType, Field } from "./types.ts";

/** `timestamp[us, tz=UTC]`, `list<item: string>`, `dictionary<values=string, indices=int32>`, `arrow.uuid`. */
export function typeName(field: Field): string {
	const extension = field.metadata.get("ARROW:extension:name");
	const storage = storageName(field);
	if (extension === undefined) return storage;
	return `extension<${new TextDecoder().decode(extension)}, storage=${storage}>`;
}

function storageName(field: Field): string {
	const name = valueName(field.type, field.children);
	const { dictionary } = field;
	if (!dictionary) return name;
	const { signed, bits } = dictionary.indexType;
	const ordered = dictionary.ordered ? ", ordered" : "";
	return `dictionary<values=${name}, indices=${signed ? "" : "u"}int${bits}${ordered}>`;
}

function valueName(type: ArrowType, children: readonly Field[]): string {
	switch (type.kind) {
		case "int":
			return `${type.signed ? "" : "u"}int${type.bits}`;
		case "float":
			return { 16: "halffloat", 32: "float", 64: "double" }[type.bits];
		case "decimal":
			return `decimal${type.bits}(${type.precision}, ${type.scale})`;
		case "date":
			return type.unit === "day" ? "date32[day]" : "date64[ms]";
		case "time":
			return `time${type.bits}[${type.unit}]`;
		case "timestamp":
			return `timestamp[${type.unit}${type.zone === null ? "" : `, tz=${type.zone}`}]`;
		case "duration":
			return `duration[${type.unit}]`;
		case "interval":
			return `${type.unit}_interval`;
		case "utf8":
			return "string";
		case "large_utf8":
			return "large_string";
		case "utf8_view":
			return "string_view";
		case "fixed_size_binary":
			return `fixed_size_binary[${type.byteWidth}]`;
		case "fixed_size_list":
			return `fixed_size_list<${members(children)}>[${type.size}]`;
		case "map": {
			const [key, value] = children[0]?.children ?? [];
			return `map<${key ? typeName(key) : "?"}, ${value ? typeName(value) : "?"}>`;
		}
		case "union": {
			const listed = children.map((child, i) => `${member(child)}=${type.typeIds[i]}`);
			return `${type.mode}_union<${listed.join(", ")}>`;
		}
		case "run_end_encoded": {
			const [ends, values] = children;
			return `run_end_encoded<run_ends: ${ends ? typeName(ends) : "?"}, values: ${values ? typeName(values) : "?"}>`;
		}
		case "list":
		case "large_list":
		case "list_view":
		case "large_list_view":
		case "struct":
			return `${type.kind}<${members(children)}>`;
		default:
			return type.kind;
	}
}

function members(children: readonly Field[]): string {
	return children.map(member).join(", ");
}

function member(child: Field): string {
	return `${child.name}: ${typeName(child)}${child.nullable ? "" : " not null"}`;
}
