/** How many bytes one value takes, of types that lay them side by side. */

import { temporalWidth } from "../check/check-temporal.ts";
import type { ArrowType } from "../types.ts";

/** Bytes a value; 0 for types of another layout (bool is bits, strings and nested types have children or offsets). */
export function fixedWidth(type: ArrowType): number {
	switch (type.kind) {
		case "int":
		case "float":
		case "decimal":
			return type.bits / 8;
		case "date":
		case "time":
		case "timestamp":
		case "duration":
		case "interval":
			return temporalWidth(type);
		case "fixed_size_binary":
			return type.byteWidth;
		default:
			return 0;
	}
}
