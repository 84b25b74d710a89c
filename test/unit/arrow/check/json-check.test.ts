import { describe, expect, it } from "vitest";
import { createJsonChecker } from "../../../../src/arrow/check/json-check.ts";

const checker = createJsonChecker();
const findFault = (text: string) => {
	const bytes = new TextEncoder().encode(`x${text}"x`);
	const at = checker.findFault(bytes, 1, bytes.length - 2);
	return at < 0 ? -1 : at - 1;
};

describe("JSON", () => {
	it.each([
		"null",
		" \t\r\n[ ] ",
		"{}",
		'{"a":1,"a":{"b":[true,false,null,"x"]}}',
		"[[[1]],[2,3],{}]",
		"-0",
		"0.5e+10",
		"123456789012345678901234567890",
		"1e999",
		'"\\" \\\\ \\/ \\b\\f\\n\\r\\t \\u00e9 \\ud83d\\ude00 é 😀 \u2028 \u007f"',
		`${"[".repeat(100_000)}1${"]".repeat(100_000)}`,
	])("%.40s is right", (text) => {
		expect(findFault(text)).toBe(-1);
	});

	it.each([
		["", 0],
		["  ", 2],
		["nul", 3],
		["nulL", 3],
		["NaN", 0],
		["Infinity", 0],
		["-Infinity", 1],
		["01", 0],
		["1.", 2],
		[".5", 0],
		["+1", 0],
		["-", 1],
		["1e", 2],
		["1e+", 3],
		["1 2", 2],
		["[1,]", 3],
		['{"a":1,}', 7],
		["[1 2]", 3],
		["[1", 2],
		["{", 1],
		["{1:2}", 1],
		['{"a"}', 4],
		['{"a":}', 5],
		["[}", 1],
		["]", 0],
		['"a', 2],
		['"a\n"', 2],
		['"\\x"', 1],
		['"\\u12g4"', 1],
		['"\\ud800"', 7],
		['"\\ude00"', 1],
		['"\\ud800\\u0041"', 7],
		['"\\', 1],
		["'a'", 0],
		["// c\n1", 0],
		["\ufeff1", 0],
		["1\u00a0", 1],
	])("%j is wrong at byte %i", (text, at) => {
		expect(findFault(text)).toBe(at);
	});

	it("judges as JSON.parse does, over mutations of a document", () => {
		const document = '{"a":[1,-2.5e3,{"b":"x\\n\\u0041"}],"c":null,"d":true,"e":{"f":[]}}';
		const characters = '{}[]",:0129.eE+-\\nutrfalse x';
		let state = 12345;
		const random = (below: number) => {
			state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
			return (state >>> 8) % below;
		};
		const verdicts = { right: 0, wrong: 0 };
		for (let round = 0; round < 20_000; round++) {
			const at = random(document.length);
			const replacement = characters[random(characters.length)]!;
			const text = document.slice(0, at) + replacement + document.slice(at + random(3));
			let parses = true;
			try {
				JSON.parse(text);
			} catch {
				parses = false;
			}
			verdicts[parses ? "right" : "wrong"]++;
			expect(findFault(text) === -1, text).toBe(parses);
		}
		expect(Math.min(verdicts.right, verdicts.wrong)).toBeGreaterThan(1000);
	});
});
