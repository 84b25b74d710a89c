import { describe, expect, it } from "vitest";
import {
	informer,
	readUploadComplete,
	readUploadLength,
	readUploadOffset,
	uploadLimit,
} from "../../../src/upload/resumable-headers.ts";

describe("Upload-Complete", () => {
	it.each([
		["?1", true],
		["?0", false],
		[" ?1 ", true],
		["?1;a=b", true],
		["1", null],
		["true", null],
		["?2", null],
		["?1, ?1", null],
		["", null],
	])("%j is %s", (value, expected) => {
		expect(readUploadComplete(new Headers({ "Upload-Complete": value }))).toBe(expected);
	});

	it("that isn't sent isn't said", () => {
		expect(readUploadComplete(new Headers())).toBeNull();
	});
});

describe("Upload-Offset and Upload-Length", () => {
	it.each([
		["0", 0],
		["123456789012345", 123456789012345],
		["1234567890123456", null],
		["-1", null],
		["1.0", null],
		["0x10", null],
		["5;p", 5],
		["5, 5", null],
	])("%j is %s", (value, expected) => {
		expect(readUploadOffset(new Headers({ "Upload-Offset": value }))).toBe(expected);
		expect(readUploadLength(new Headers({ "Upload-Length": value }))).toBe(expected);
	});
});

describe("Upload-Limit", () => {
	it("is a dictionary of whole numbers, and no append is larger than an upload", () => {
		const limits = { maxUploadBytes: 100, maxAppendBytes: 1_000, maxAgeSeconds: 59.9 };
		expect(uploadLimit(limits)).toBe(
			"max-size=100, max-append-size=100, min-append-size=0, max-age=59",
		);
		expect(uploadLimit({ ...limits, maxAgeSeconds: -3 })).toMatch(/max-age=0$/);
	});
});

describe("a 104", () => {
	const asked = (version?: string) =>
		new Request("http://x", {
			headers: version === undefined ? {} : { "Upload-Draft-Interop-Version": version },
		});

	it("is sent to who says the draft's version, where the runtime can", () => {
		const sent: unknown[] = [];
		const deps = { inform: (...all: unknown[]) => void sent.push(all) };
		informer(deps, asked("9"), "env")!({ "Upload-Offset": "3" });
		expect(sent).toEqual([
			["env", 104, { "Upload-Offset": "3", "Upload-Draft-Interop-Version": "9" }],
		]);
		for (const version of [undefined, "8", "10"]) {
			expect(informer(deps, asked(version), "env")).toBeNull();
		}
		expect(informer({}, asked("9"), "env")).toBeNull();
	});
});
