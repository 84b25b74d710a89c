import { tableFromArrays, tableFromIPC, tableToIPC } from "apache-arrow";
import { describe, expect, it } from "vitest";
import { ipcStreamRange } from "../../../src/cli/ipc-stream-range.ts";

const table = tableFromArrays({ a: Int32Array.from([1, 2, 3]), b: ["x", "y", "x"] });
const rangeOf = (bytes: Uint8Array) =>
	ipcStreamRange(bytes.length, async (offset, length) => bytes.subarray(offset, offset + length));

describe("ipcStreamRange", () => {
	it("finds the stream inside a file: what lies between magic and footer", async () => {
		const stream = tableToIPC(table, "stream");
		const footer = new Uint8Array(40).fill(7);
		const tail = new Uint8Array(10);
		new DataView(tail.buffer).setInt32(0, footer.length, true);
		tail.set(new TextEncoder().encode("ARROW1"), 4);
		const file = Buffer.concat([new TextEncoder().encode("ARROW1\0\0"), stream, footer, tail]);
		const range = await rangeOf(file);
		if (range === null || range === "no schema") throw new Error(`no range: ${range}`);
		expect(tableFromIPC(file.subarray(range.start, range.end)).toArray()).toEqual(table.toArray());
	});

	it("tells a file whose schema is in its footer alone", async () => {
		expect(await rangeOf(tableToIPC(table, "file"))).toBe("no schema");
	});

	it("leaves a stream, short bytes and a file with a broken footer as they are", async () => {
		expect(await rangeOf(tableToIPC(table, "stream"))).toBeNull();
		expect(await rangeOf(new TextEncoder().encode("ARROW1"))).toBeNull();
		const broken = tableToIPC(table, "file").slice();
		new DataView(broken.buffer).setInt32(broken.length - 10, broken.length, true);
		expect(await rangeOf(broken)).toBeNull();
	});
});
