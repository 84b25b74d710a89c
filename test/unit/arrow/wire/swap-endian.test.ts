import { expect, test } from "vitest";
import type { ArrowType } from "../../../../src/arrow/types.ts";
import { swapToLittleEndian } from "../../../../src/arrow/wire/swap-endian.ts";
import { nodeCodecs } from "../../../../src/replay/node-codecs.ts";

/** The bytes of numbers, each of so many bits, in one byte order. */
function bytesOf(
	littleEndian: boolean,
	...numbers: [bits: 8 | 16 | 32 | 64, value: number | bigint][]
): Uint8Array {
	const bytes: number[] = [];
	for (const [bits, value] of numbers) {
		const one = Array.from({ length: bits / 8 }, (_, i) =>
			Number((BigInt(value) >> BigInt(8 * i)) & 0xffn),
		);
		bytes.push(...(littleEndian ? one : one.reverse()));
	}
	return Uint8Array.from(bytes);
}

type Numbers = [8 | 16 | 32 | 64, number | bigint][];
const text = (letters: string): Numbers => [...letters].map((letter) => [8, letter.charCodeAt(0)]);

test.each<[string, ArrowType, Numbers[]]>([
	[
		"int16",
		{ kind: "int", bits: 16, signed: true },
		[
			[
				[16, 1],
				[16, -2],
			],
		],
	],
	["uint64", { kind: "int", bits: 64, signed: false }, [[[64, 1n << 40n]]]],
	[
		"int8, which has no order",
		{ kind: "int", bits: 8, signed: true },
		[
			[
				[8, 1],
				[8, 2],
			],
		],
	],
	["float16", { kind: "float", bits: 16 }, [[[16, 0x3c00]]]],
	["date in days", { kind: "date", unit: "day" }, [[[32, 77]]]],
	["date in ms", { kind: "date", unit: "ms" }, [[[64, 77]]]],
	[
		"day and time: two of 32 bits",
		{ kind: "interval", unit: "day_time" },
		[
			[
				[32, 3],
				[32, 4000],
			],
		],
	],
	[
		"month, day, nano: 32, 32 and 64 bits",
		{ kind: "interval", unit: "month_day_nano" },
		[
			[
				[32, 3],
				[32, -4],
				[64, 5],
			],
		],
	],
	[
		"strings: their offsets only",
		{ kind: "utf8" },
		[
			[
				[32, 0],
				[32, 3],
			],
			text("abc"),
		],
	],
	[
		"large lists",
		{ kind: "large_list" },
		[
			[
				[64, 0],
				[64, 3],
			],
		],
	],
	["list views: offsets and sizes", { kind: "list_view" }, [[[32, 7]], [[32, 9]]]],
	["large list views", { kind: "large_list_view" }, [[[64, 7]], [[64, 9]]]],
	["views that hold their bytes", { kind: "utf8_view" }, [[[32, 12], ...text("twelve bytes")]]],
	[
		"views that point: length, prefix, buffer, offset",
		{ kind: "binary_view" },
		[[[32, 300], ...text("pref"), [32, 2], [32, 70_000]], text("data")],
	],
])("%s", (_, type, buffers) => {
	const array = {
		length: 1,
		nullCount: 0,
		buffers: [Uint8Array.of(1), ...buffers.map((numbers) => bytesOf(false, ...numbers))],
		children: [],
		dictionary: null,
	};
	const sent = array.buffers.map((buffer) => buffer.slice());
	const before = [...array.buffers];
	swapToLittleEndian(type, array, nodeCodecs);
	expect(array.buffers).toEqual([
		Uint8Array.of(1),
		...buffers.map((numbers) => bytesOf(true, ...numbers)),
	]);
	// Sent buffers may overlap each other, so they stay as they were.
	expect(before).toEqual(sent);
});

test("decimals are reversed as a whole, 16 and 32 bytes", () => {
	for (const bits of [32, 64, 128, 256] as const) {
		const width = bits / 8;
		const sent = Uint8Array.from({ length: 2 * width }, (_, i) => i);
		const array = {
			length: 2,
			nullCount: 0,
			buffers: [null, sent],
			children: [],
			dictionary: null,
		};
		swapToLittleEndian({ kind: "decimal", bits, precision: 1, scale: 0 }, array, nodeCodecs);
		const expected = [sent.slice(0, width).reverse(), sent.slice(width).reverse()];
		expect(array.buffers[1]).toEqual(Uint8Array.from(expected.flatMap((part) => [...part])));
	}
});

test("of a dense union the offsets are swapped and the type ids are not", () => {
	const array = {
		length: 2,
		nullCount: 0,
		buffers: [Uint8Array.of(1, 2), bytesOf(false, [32, 5], [32, 6])],
		children: [],
		dictionary: null,
	};
	swapToLittleEndian({ kind: "union", mode: "dense", typeIds: [1, 2] }, array, nodeCodecs);
	expect(array.buffers).toEqual([Uint8Array.of(1, 2), bytesOf(true, [32, 5], [32, 6])]);
});
