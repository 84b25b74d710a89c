/**
 * Numbers that DuckDB has no type for: float16 becomes float32, decimals of other
 * widths or scales become decimal128. That values fit was checked before.
 */

import { IngestError } from "../../errors.ts";
import { int32View, int64View } from "../array/buffer-views.ts";
import { decimalAt } from "../check/check-decimals.ts";
import type { Codecs } from "../codecs.ts";
import { typeName } from "../type-name.ts";
import type { ArrayData, Field } from "../types.ts";
import { type Decimal, engineDecimal, maxDecimalDigits } from "./engine-decimal.ts";
import type { FieldForm, FormContext } from "./form-context.ts";
import { maskArray } from "./mask-array.ts";

export function halfFloatForm(field: Field, codecs: Codecs): FieldForm {
	return {
		field: { ...field, type: { kind: "float", bits: 32 } },
		convert(array, mask) {
			const from = array.buffers[1]!;
			const halves = new Uint16Array(from.buffer, from.byteOffset, array.length);
			const bytes = codecs.allocate(array.length * 4);
			const bits = int32View(bytes, array.length);
			for (let i = 0; i < halves.length; i++) bits[i] = widened[halves[i]!]!;
			return maskArray(withValues(array, bytes), field.type, mask, codecs);
		},
	};
}

/** The bits of every float16 as float32, NaN payloads kept. */
const widened = Int32Array.from({ length: 65_536 }, (_, half) => {
	const sign = (half & 0x8000) << 16;
	const exponent = (half >>> 10) & 0x1f;
	const fraction = half & 0x3ff;
	if (exponent === 0x1f) return sign | 0x7f800000 | (fraction << 13);
	if (exponent > 0) return sign | ((exponent + 112) << 23) | (fraction << 13);
	if (fraction === 0) return sign;
	// Subnormal: fraction * 2^-24, normal as float32. Its highest bit becomes the hidden one.
	const shift = Math.clz32(fraction) - 21;
	return sign | ((113 - shift) << 23) | (((fraction << shift) & 0x3ff) << 13);
});

/** Null: DuckDB takes the field as it is. */
export function decimalForm(field: Field, context: FormContext): FieldForm | null {
	const type = field.type as Decimal;
	const target = engineDecimal(type);
	if (target === null) {
		throw new IngestError(
			"unsupported_type",
			`column ${context.path}: DuckDB's DECIMAL has at most ${maxDecimalDigits} digits, the scale is ${type.scale}`,
			{ column: context.path, arrow_type: typeName(field) },
		);
	}
	if (type.bits !== 256 && target.precision === type.precision && target.scale === type.scale)
		return null;
	const { codecs } = context;
	const factor = 10n ** BigInt(Math.max(0, -type.scale));
	const perValue = type.bits / 32;
	return {
		field: { ...field, type: { kind: "decimal", bits: 128, ...target } },
		convert(array, mask) {
			const words = int32View(array.buffers[1]!, array.length * perValue);
			const bytes = codecs.allocate(array.length * 16);
			if (factor === 1n) copyWords(words, int32View(bytes), perValue, array.length);
			else scaleUp(words, int64View(bytes), perValue, array.length, factor);
			return maskArray(withValues(array, bytes), field.type, mask, codecs);
		},
	};
}

/** The low 128 bits, or all of them with their sign repeated. */
function copyWords(from: Int32Array, to: Int32Array, perValue: number, length: number): void {
	for (let i = 0; i < length; i++) {
		const at = i * perValue;
		const sign = from[at + perValue - 1]! >> 31;
		for (let w = 0; w < 4; w++) to[i * 4 + w] = w < perValue ? from[at + w]! : sign;
	}
}

function scaleUp(
	from: Int32Array,
	to: BigInt64Array,
	perValue: number,
	length: number,
	factor: bigint,
): void {
	for (let i = 0; i < length; i++) {
		const value = decimalAt(from, perValue, i) * factor;
		to[i * 2] = BigInt.asIntN(64, value);
		to[i * 2 + 1] = BigInt.asIntN(64, value >> 64n);
	}
}

function withValues(array: ArrayData, values: Uint8Array): ArrayData {
	return { ...array, buffers: [array.buffers[0] ?? null, values] };
}
