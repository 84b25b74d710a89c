import { expect, test } from "vitest";
import { refuseEarly } from "../../../src/arrow/refuse-early.ts";
import { defaultLimits } from "../../../src/limits.ts";
import { arrowNumbers, arrowStream } from "../../contract/arrow-bytes.ts";

const codeOf = (head: Uint8Array, complete: boolean) =>
	refuseEarly(head, complete, defaultLimits).then(
		() => "fine",
		(error) => error.code,
	);
const text = (value: string) => new TextEncoder().encode(value);

test("what begins as Arrow passes, at every cut", async () => {
	const bytes = arrowStream(2_000);
	for (let size = 0; size <= Math.min(bytes.length, 3_000); size++) {
		expect([size, await codeOf(bytes.subarray(0, size), false)]).toEqual([size, "fine"]);
	}
	expect(await codeOf(arrowNumbers(), true)).toBe("fine");
});

test("what is no Arrow is refused once there is enough of it", async () => {
	const csv = text("id,name\n".repeat(100));
	expect(await codeOf(csv, false)).toBe("not_arrow");
	expect(await codeOf(csv.subarray(0, 10), false)).toBe("fine");
	expect(await codeOf(csv.subarray(0, 10), true)).toBe("not_arrow");
	expect(await codeOf(new Uint8Array(0), true)).toBe("not_arrow");
	expect(await codeOf(new Uint8Array(0), false)).toBe("fine");
});

test("a schema whose bytes are damaged is refused", async () => {
	const bytes = arrowStream(100);
	let refused = 0;
	for (let at = 8; at < 300; at++) {
		const damaged = bytes.slice();
		damaged[at]! ^= 0xff;
		if ((await codeOf(damaged, true)) !== "fine") refused++;
	}
	expect(refused).toBeGreaterThan(50);
});
