import { tableFromArrays, tableFromIPC, tableToIPC } from "apache-arrow";
import { describe, expect, it } from "vitest";
import { ipcStreamRange } from "../../../src/cli/ipc-stream-range.ts";

const table = tableFromArrays({ a: Int32Array.from([1, 2, 3]), b: ["x", "y", "x"] });
const rangeOf = (bytes: Uint8Array) =>
	ipcStreamRange(bytes.length, async (offset, length) => bytes.subarray(offset, offset + length));

describe("ipcStreamRange", () => {
	it("finds the stream inside a file, which reads as a stream on its own", async () => {
		const file = tableToIPC(table, "file");
		const range = await rangeOf(file);
		const stream = file.slice(range!.start, range!.end);
		expect(
			tableFromIPC(stream)
				.toArray()
				.map((row) => row?.toJSON()),
		).toEqual([
			{ a: 1, b: "x" },
			{ a: 2, b: "y" },
			{ a: 3, b: "x" },
		]);
	});

	it("leaves a stream, short bytes and a file with a broken footer as they are", async () => {
		expect(await rangeOf(tableToIPC(table, "stream"))).toBeNull();
		expect(await rangeOf(new TextEncoder().encode("ARROW1"))).toBeNull();
		const broken = tableToIPC(table, "file").slice();
		new DataView(broken.buffer).setInt32(broken.length - 10, broken.length, true);
		expect(await rangeOf(broken)).toBeNull();
	});
});
