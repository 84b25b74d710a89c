/**
 * The kernels beside plain TypeScript checks of the same buffers, where the repository has them: best of 15,
 * in values or bytes per nanosecond. Run: node bench/native-kernels.ts
 */

import { findBadOffset, findInvalidUtf8, findLongDecimal, findOutside } from "../native/kernels.js";
import { bytes } from "../native/test/arrays.ts";
import { findBadOffset as findBadOffsetTs } from "../src/arrow/array/offsets.ts";
import { decimalsOver } from "../src/arrow/check/check-decimals.ts";
import { findInvalidUtf8 as findInvalidUtf8Ts, skipAscii } from "../src/arrow/check/utf8.ts";

function best(work: () => number): number {
	let fastest = Number.POSITIVE_INFINITY;
	for (let i = 0; i < 15; i++) {
		const started = performance.now();
		if (work() !== -1) throw new Error("found something");
		fastest = Math.min(fastest, performance.now() - started);
	}
	return fastest;
}

function compare(
	name: string,
	units: number,
	native: () => number,
	plain: (() => number) | null,
): void {
	const rate = (milliseconds: number) =>
		`${(units / milliseconds / 1e6).toFixed(2).padStart(6)}/ns`;
	const fast = best(native);
	const slow = plain === null ? null : best(plain);
	console.log(
		`${name.padEnd(34)} native ${rate(fast)}${slow === null ? "" : `   TypeScript ${rate(slow)}   ${(slow / fast).toFixed(1)} x`}`,
	);
}

const size = 32_000_000;
const text = (sample: string) => {
	const one = new TextEncoder().encode(sample);
	const all = new Uint8Array(Math.floor(size / one.length) * one.length);
	for (let at = 0; at < all.length; at += one.length) all.set(one, at);
	return all;
};
const ascii = text("deposits sleep furiously against the quick ideas ");
compare(
	"UTF-8, ASCII (bytes)",
	ascii.length,
	() => findInvalidUtf8(ascii, 0, ascii.length),
	() => (skipAscii(ascii, 0, ascii.length) < ascii.length ? 0 : -1),
);
for (const [name, sample] of [
	["German", "Größe und Übermut, schön weiß, aber müde "],
	["Cyrillic", "привет мир, как дела сегодня "],
	["Japanese", "漢字かな交じり文を書く人"],
	["emoji", "😀🎉🚀👍"],
] as const) {
	const data = text(sample);
	compare(
		`UTF-8, ${name} (bytes)`,
		data.length,
		() => findInvalidUtf8(data, 0, data.length),
		() => findInvalidUtf8Ts(data, 0, data.length),
	);
}
const rows = 1_000_000;
const offsets = bytes(Int32Array.from({ length: rows + 1 }, (_, i) => i * 10));
compare(
	"offsets, 32 bits",
	rows,
	() => findBadOffset(offsets, 4, rows + 1, rows * 10),
	() => findBadOffsetTs(offsets, 4, rows + 1, rows * 10),
);
const large = bytes(BigInt64Array.from({ length: rows + 1 }, (_, i) => BigInt(i * 10)));
compare(
	"offsets, 64 bits",
	rows,
	() => findBadOffset(large, 8, rows + 1, rows * 10),
	() => findBadOffsetTs(large, 8, rows + 1, rows * 10),
);
for (const [bits, precision] of [
	[128, 15],
	[128, 38],
	[64, 15],
	[256, 40],
] as const) {
	const words = new Int32Array((rows * bits) / 32);
	for (let i = 0; i < rows; i++) words[(i * bits) / 32] = i * 7;
	const over = decimalsOver(bits, precision);
	const view = bytes(words);
	compare(
		`decimal${bits}, ${precision} digits`,
		rows,
		() => findLongDecimal(view, (bits / 8) as 16, rows, 0, precision, null),
		() => over(words, rows, 0),
	);
}
const moments = bytes(BigInt64Array.from({ length: rows }, (_, i) => BigInt(i) * 1_000_000_000n));
compare(
	"64-bit range",
	rows,
	() => findOutside(moments, 8, rows, 0, -(2n ** 60n), 2n ** 60n, null),
	null,
);
