/**
 * Durations and intervals, which DuckDB all makes INTERVAL (months, days, microseconds).
 *
 * Its scanner multiplies seconds and milliseconds before it looks at validity, so
 * values under nulls become zero; it takes a day_time interval's 8 bytes for one
 * number of milliseconds, so that becomes month_day_nano. Nanoseconds that are no
 * whole microseconds are cut, and named in a warning once they are met.
 */

import { isValid } from "../array/bitmap.ts";
import { int32View } from "../array/buffer-views.ts";
import { typeName } from "../type-name.ts";
import type { ArrayData, Field } from "../types.ts";
import type { FieldForm, FormContext } from "./form-context.ts";
import { maskArray } from "./mask-array.ts";

/** Null: DuckDB takes the field as it is. */
export function intervalForm(field: Field, context: FormContext): FieldForm | null {
	const { codecs } = context;
	const { type } = field;
	const masked = (array: ArrayData, mask: Uint8Array | null) =>
		maskArray(array, type, mask, codecs);
	if (type.kind === "duration" && (type.unit === "s" || type.unit === "ms")) {
		return {
			field,
			convert(sent, mask) {
				const array = masked(sent, mask);
				if (array.nullCount === 0) return array;
				const bytes = codecs.allocate(array.length * 8);
				const from = int32View(array.buffers[1]!, array.length * 2);
				const to = int32View(bytes, array.length * 2);
				for (let i = 0; i < array.length; i++) {
					const keep = isValid(array.buffers[0]!, i) ? -1 : 0;
					to[i * 2] = from[i * 2]! & keep;
					to[i * 2 + 1] = from[i * 2 + 1]! & keep;
				}
				return { ...array, buffers: [array.buffers[0]!, bytes] };
			},
		};
	}
	if (type.kind === "interval" && type.unit === "day_time") {
		return {
			field: { ...field, type: { kind: "interval", unit: "month_day_nano" } },
			convert(array, mask) {
				const bytes = codecs.allocate(array.length * 16).fill(0);
				const from = int32View(array.buffers[1]!, array.length * 2);
				const days = int32View(bytes);
				const nanos = new BigInt64Array(bytes.buffer, bytes.byteOffset, array.length * 2);
				for (let i = 0; i < array.length; i++) {
					days[i * 4 + 1] = from[i * 2]!;
					nanos[i * 2 + 1] = BigInt(from[i * 2 + 1]!) * 1_000_000n;
				}
				return masked({ ...array, buffers: [array.buffers[0] ?? null, bytes] }, mask);
			},
		};
	}
	const nanosAt =
		type.kind === "duration" && type.unit === "ns"
			? { step: 2, at: 0 }
			: type.kind === "interval" && type.unit === "month_day_nano"
				? { step: 4, at: 2 }
				: null;
	if (nanosAt === null) return null;
	let told = false;
	return {
		field,
		convert(sent, mask) {
			const array = masked(sent, mask);
			if (!told && losesNanos(array, nanosAt.step, nanosAt.at)) {
				told = true;
				context.warnings.push({
					code: "lossy_cast",
					column: context.path,
					detail: `${typeName(field)} becomes INTERVAL, which holds microseconds`,
				});
			}
			return array;
		},
	};
}

/** Is there a valid value whose nanoseconds are no whole microseconds. `step` and `at` in 32-bit words. */
function losesNanos(array: ArrayData, step: number, at: number): boolean {
	const words = int32View(array.buffers[1]!, array.length * step);
	const validity = array.nullCount > 0 ? array.buffers[0]! : null;
	for (let i = 0, w = at; i < array.length; i++, w += step) {
		// 2^32 is 296 modulo 1,000.
		const rest = ((words[w]! >>> 0) % 1_000) + (words[w + 1]! % 1_000) * 296;
		if (rest % 1_000 !== 0 && isValid(validity, i)) return true;
	}
	return false;
}
