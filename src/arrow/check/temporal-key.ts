/**
 * Dates, moments and intervals that DuckDB takes for one value though their bytes
 * differ: what it cuts off on the way in, and intervals by their whole length (a
 * month is 30 days there, a day 24 hours: `INTERVAL 1 DAY = INTERVAL 24 HOURS`).
 */

import { int32View, int64View } from "../array/buffer-views.ts";
import type { ArrowType } from "../types.ts";

const microsPerDay = 86_400_000_000n;
const msPerDay = 86_400_000n;

/** Reads the value that counts, from the values' buffer; null: its bytes are what counts. */
export function temporalKey(
	type: ArrowType,
): ((bytes: Uint8Array, index: number) => bigint) | null {
	switch (type.kind) {
		case "date":
			if (type.unit === "day") return null;
			return (bytes, index) => {
				const ms = int64View(bytes)[index]!;
				return (ms - (((ms % msPerDay) + msPerDay) % msPerDay)) / msPerDay;
			};
		case "timestamp":
			if (type.unit !== "ns" || type.zone === null) return null;
			return (bytes, index) => int64View(bytes)[index]! / 1_000n;
		case "duration":
			if (type.unit !== "ns") return null;
			return (bytes, index) => int64View(bytes)[index]! / 1_000n;
		case "interval":
			switch (type.unit) {
				case "month":
					return null;
				case "day_time":
					return (bytes, index) => {
						const [days, ms] = int32View(bytes).subarray(index * 2) as unknown as [number, number];
						return BigInt(days) * microsPerDay + BigInt(ms) * 1_000n;
					};
				case "month_day_nano":
					return (bytes, index) => {
						const [months, days] = int32View(bytes).subarray(index * 4) as unknown as [
							number,
							number,
						];
						const micros = int64View(bytes)[index * 2 + 1]! / 1_000n;
						return (BigInt(months) * 30n + BigInt(days)) * microsPerDay + micros;
					};
			}
	}
	return null;
}
