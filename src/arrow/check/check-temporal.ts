/**
 * Dates, times, timestamps, durations and intervals inside what DuckDB can hold
 * and read back. Measured on 1.5.5 by storing raw values and printing them:
 *
 * - DATE: day -2147483648 can't be read back, ±2147483647 are ±infinity, the rest is right.
 *   Milliseconds that are no whole day: see form-dates.ts.
 * - TIME: outside [0, 24 h] poisons the table for its readers. 24:00:00 itself is
 *   a TIME; Arrow's specification excludes it, Arrow's own golden files have it.
 * - TIMESTAMP: ±(2^63 - 1) are ±infinity in every unit; below 290309-12-22 (BC)
 *   00:00:00 values can't be printed; seconds and milliseconds must fit in
 *   microseconds; TIMESTAMP_NS begins at 1677-09-22 00:00:00.
 * - TIMESTAMP WITH TIME ZONE: seconds and milliseconds are multiplied, so there
 *   infinity is an overflow; nanoseconds are divided, so all of them fit.
 * - INTERVAL: durations in seconds and milliseconds are multiplied to microseconds,
 *   values under nulls too (see form-intervals.ts); months, days and
 *   nanoseconds at the ends of their range are right.
 */

import type { ErrorCode } from "../../errors.ts";
import { isValid } from "../array/bitmap.ts";
import { int32View, int64View, needBuffer, needShape } from "../array/buffer-views.ts";
import type { Codecs } from "../codecs.ts";
import type { ArrayData, ArrowType, TimeUnit } from "../types.ts";
import { type Place, refuseValue } from "./check-place.ts";

type Temporal = Extract<
	ArrowType,
	{ kind: "date" | "time" | "timestamp" | "duration" | "interval" }
>;

interface Range {
	min: bigint;
	max: bigint;
	/** ±(2^63 - 1) stand for infinity. */
	infinity?: boolean;
	code: ErrorCode;
	detail: string;
}

const msPerDay = 86_400_000n;
const maxInt64 = 2n ** 63n - 1n;
const perSecond = {
	s: 1n,
	ms: 1_000n,
	us: 1_000_000n,
	ns: 1_000_000_000n,
} as const satisfies Record<TimeUnit, bigint>;
/** 290309-12-22 (BC) 00:00:00 in seconds, and the last microsecond before infinity. */
const minTimestampSeconds = -9_223_372_022_400n;
const maxTimestampMicros = maxInt64 - 1n;
/** 1677-09-22 00:00:00. */
const minTimestampNanos = -9_223_286_400_000_000_000n;

/** Bytes of one value. */
export function temporalWidth(type: Temporal): 4 | 8 | 16 {
	switch (type.kind) {
		case "date":
			return type.unit === "day" ? 4 : 8;
		case "time":
			return type.bits === 32 ? 4 : 8;
		case "interval":
			return { month: 4, day_time: 8, month_day_nano: 16 }[type.unit] as 4 | 8 | 16;
		default:
			return 8;
	}
}

/** Makes the check of one temporal type. */
export function temporalCheck(
	type: Temporal,
	codecs: Codecs,
): (array: ArrayData, place: Place) => void {
	const width = temporalWidth(type);
	const range = rangeOf(type);
	const find = width === 4 ? outside32 : outside64;
	return (array, place) => {
		needShape(array, 2, 0, place);
		const bytes = array.length * width;
		const buffer = needBuffer(array, 1, bytes, Math.min(8, width), "values", place, codecs);
		if (range === null || array.length === 0) return;
		const validity = array.nullCount > 0 ? array.buffers[0]! : null;
		for (
			let i = find(buffer, array.length, 0, range);
			i >= 0;
			i = find(buffer, array.length, i + 1, range)
		) {
			if (!isValid(validity, i)) continue;
			const value = width === 4 ? int32View(buffer)[i]! : int64View(buffer)[i]!;
			refuseValue(place, i, range.code, `${value} ${range.detail}`);
		}
	};
}

function rangeOf(type: Temporal): Range | null {
	switch (type.kind) {
		case "date": {
			const day = type.unit === "day" ? 1n : msPerDay;
			return {
				min: -2_147_483_647n * day,
				max: 2_147_483_647n * day + day - 1n,
				code: "cast_failed",
				detail: `${type.unit} since 1970 is outside the days that DuckDB's DATE holds`,
			};
		}
		case "time": {
			const day = 86_400n * perSecond[type.unit];
			return {
				min: 0n,
				max: day,
				code: "invalid_arrow",
				detail: `is not a time of day: outside [0, ${day}] ${type.unit}`,
			};
		}
		case "timestamp": {
			const { unit, zone } = type;
			const detail = `${unit} since 1970 is outside the range of DuckDB's ${zone === null ? "TIMESTAMP" : "TIMESTAMP WITH TIME ZONE"}`;
			if (unit === "ns") {
				if (zone !== null) return null;
				return {
					min: minTimestampNanos,
					max: maxInt64,
					infinity: true,
					code: "cast_failed",
					detail,
				};
			}
			return {
				min: minTimestampSeconds * perSecond[unit],
				max: (maxTimestampMicros * perSecond[unit]) / perSecond.us,
				infinity: zone === null || unit === "us",
				code: "cast_failed",
				detail,
			};
		}
		case "duration": {
			if (type.unit === "us" || type.unit === "ns") return null;
			const max = (maxInt64 * perSecond[type.unit]) / perSecond.us;
			return {
				min: -max,
				max,
				code: "cast_failed",
				detail: `${type.unit} don't fit DuckDB's INTERVAL`,
			};
		}
		case "interval":
			return null;
	}
}

function outside32(buffer: Uint8Array, length: number, from: number, range: Range): number {
	const values = int32View(buffer, length);
	const min = Number(range.min);
	const max = Number(range.max);
	for (let i = from; i < length; i++) {
		const value = values[i]!;
		if (value < min || value > max) return i;
	}
	return -1;
}

/** Most values are cleared by their high word alone; BigInt decides the rest. */
function outside64(buffer: Uint8Array, length: number, from: number, range: Range): number {
	const words = int32View(buffer, length * 2);
	const low = Number(range.min >> 32n) + 1;
	const high = Number(range.max >> 32n) - 1;
	const exact = int64View(buffer, length);
	for (let i = from, w = from * 2 + 1; i < length; i++, w += 2) {
		const word = words[w]!;
		if (word >= low && word <= high) continue;
		if (isOutside(exact[i]!, range)) return i;
	}
	return -1;
}

function isOutside(value: bigint, range: Range): boolean {
	if (range.infinity && (value === maxInt64 || value === -maxInt64)) return false;
	return value < range.min || value > range.max;
}
