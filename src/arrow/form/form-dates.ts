/**
 * date64, milliseconds, as date32, days. DuckDB's own scan cuts towards zero, which
 * before 1970 is the wrong day; here the day is the one that the moment lies in.
 *
 * The specification wants whole days, but writers (apache-arrow among them, for a
 * JavaScript Date) put the time of day in too: DATE can't hold it, so it is named
 * in a warning once it is met.
 */

import { isValid } from "../array/bitmap.ts";
import { int32View, int64View } from "../array/buffer-views.ts";
import { typeName } from "../type-name.ts";
import type { Field } from "../types.ts";
import type { FieldForm, FormContext } from "./form-context.ts";
import { maskArray } from "./mask-array.ts";

const msPerDay = 86_400_000;

export function date64Form(field: Field, context: FormContext): FieldForm {
	const { codecs, warnings, path } = context;
	let told = false;
	return {
		field: { ...field, type: { kind: "date", unit: "day" } },
		convert(sent, mask) {
			const array = maskArray(sent, field.type, mask, codecs);
			const { length } = array;
			const words = int32View(array.buffers[1]!, length * 2);
			const exact = int64View(array.buffers[1]!, length);
			const bytes = codecs.allocate(length * 4);
			const days = int32View(bytes, length);
			const validity = array.nullCount > 0 ? array.buffers[0]! : null;
			for (let i = 0; i < length; i++) {
				const high = words[i * 2 + 1]!;
				// Exact within ±2^52 ms, 142,000 years; beyond it in whole numbers of any size.
				const isSmall = high >= -0x10_0000 && high < 0x10_0000;
				const ms = high * 4_294_967_296 + (words[i * 2]! >>> 0);
				const day = isSmall ? Math.floor(ms / msPerDay) : floorDay(exact[i]!);
				days[i] = day;
				if (told || !isValid(validity, i)) continue;
				if (isSmall ? day * msPerDay !== ms : BigInt(day) * BigInt(msPerDay) !== exact[i]) {
					told = true;
					warnings.push({
						code: "lossy_cast",
						column: path,
						detail: `${typeName(field)} becomes DATE; values with a time of day lose it`,
					});
				}
			}
			return { ...array, buffers: [array.buffers[0] ?? null, bytes] };
		},
	};
}

function floorDay(ms: bigint): number {
	const day = BigInt(msPerDay);
	return Number((ms - (((ms % day) + day) % day)) / day);
}
