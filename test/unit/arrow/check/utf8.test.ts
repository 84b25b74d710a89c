import { describe, expect, it } from "vitest";
import { findInvalidUtf8, skipAscii } from "../../../../src/arrow/check/utf8.ts";

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function isUtf8(bytes: Uint8Array): boolean {
	try {
		decoder.decode(bytes);
		return true;
	} catch {
		return false;
	}
}

/** A small generator of its own, so that a failure can be repeated. */
function randomOf(seed: number): (below: number) => number {
	let state = seed;
	return (below) => {
		state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
		return Math.floor((state / 4_294_967_296) * below);
	};
}

const pieces = [
	"a",
	"é",
	"€",
	"😀",
	"\u07ff",
	"\u0800",
	"\ud7ff",
	"\ue000",
	"\uffff",
	"\u{10000}",
	"plain text of some length, then more",
];

describe("UTF-8 validity", () => {
	it("agrees with the platform's decoder on 30,000 texts with bytes changed, cut and moved", () => {
		const random = randomOf(20_261_130);
		const encoder = new TextEncoder();
		let invalid = 0;
		for (let round = 0; round < 30_000; round++) {
			const text = Array.from({ length: 1 + random(12) }, () => pieces[random(pieces.length)]).join(
				"",
			);
			const shift = random(9);
			const encoded = encoder.encode(text);
			const bytes = new Uint8Array(shift + encoded.length);
			bytes.set(encoded, shift);
			for (let changes = random(3); changes > 0; changes--)
				bytes[shift + random(encoded.length)] = random(256);
			const from = shift + random(2);
			const to = Math.max(from, bytes.length - random(3));
			const part = bytes.subarray(from, to);
			const bad = findInvalidUtf8(bytes, from, to);
			if (bad >= 0) {
				invalid++;
				expect(isUtf8(bytes.subarray(from, bad))).toBe(true);
			}
			expect([round, bad < 0]).toEqual([round, isUtf8(part)]);
		}
		expect(invalid).toBeGreaterThan(5_000);
	});

	it("agrees on every sequence of two bytes, and on every lead byte before continuations", () => {
		for (let a = 0; a < 256; a++) {
			for (let b = 0; b < 256; b++) {
				for (const bytes of [
					Uint8Array.of(a, b),
					Uint8Array.of(a, b, 0x80),
					Uint8Array.of(a, b, 0xbf, 0x80),
				]) {
					expect([a, b, findInvalidUtf8(bytes, 0, bytes.length) < 0]).toEqual([
						a,
						b,
						isUtf8(bytes),
					]);
				}
			}
		}
	});
});

describe("skipping ASCII", () => {
	it("never passes a byte that isn't, and ends at the end when all are", () => {
		for (let at = 0; at < 100; at++) {
			for (let start = 0; start < 10; start++) {
				const bytes = new Uint8Array(100).fill(0x61);
				expect(skipAscii(bytes, start, 100)).toBe(100);
				bytes[at] = 0xc3;
				const found = skipAscii(bytes.subarray(1), start, 99);
				if (at - 1 < start) expect(found).toBe(99);
				else
					expect([found <= at - 1, found > at - 1 - 32 || found === start]).toEqual([true, true]);
			}
		}
	});

	it("of a range that is shorter than a word ends at its end, wherever it begins", () => {
		const bytes = new Uint8Array(16).fill(0x61);
		for (let start = 0; start < 8; start++) {
			for (let end = start; end < start + 4; end++) {
				expect(skipAscii(bytes, start, end)).toBe(end);
				expect(skipAscii(bytes.subarray(1), start, end)).toBe(end);
			}
		}
	});
});
