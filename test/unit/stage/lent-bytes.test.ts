import { describe, expect, it } from "vitest";
import { giveBack, lend } from "../../../src/stage/lent-bytes.ts";

describe("memory that is lent", () => {
	it("comes back once, when every byte of it did, in whatever views", () => {
		const memory = new Uint8Array(100);
		let back = 0;
		lend(memory, () => back++);
		giveBack(memory.subarray(60));
		giveBack(memory.subarray(0, 10));
		expect(back).toBe(0);
		giveBack(memory.subarray(10, 60));
		expect(back).toBe(1);
		giveBack(memory);
		expect(back).toBe(1);
	});

	it("may be lent again", () => {
		const memory = new Uint8Array(8);
		let back = 0;
		for (let round = 0; round < 3; round++) {
			lend(memory, () => back++);
			giveBack(memory);
		}
		expect(back).toBe(3);
	});

	it("and only that: bytes of nobody's are left alone", () => {
		expect(() => giveBack(new Uint8Array(4))).not.toThrow();
	});
});
