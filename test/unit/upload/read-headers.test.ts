import { expect, test } from "vitest";
import {
	assertArrowType,
	assertJsonType,
	readContentDigest,
	readContentEncoding,
	readIdempotencyHeader,
	readPreferences,
	readRequestId,
	readTraceparent,
} from "../../../src/upload/read-headers.ts";

const codeOf = (work: () => unknown) => {
	try {
		work();
		return "fine";
	} catch (error) {
		return (error as { code: string }).code;
	}
};

test.each([
	["wait=10", { respondAsync: false, wait: 10 }],
	["respond-async", { respondAsync: true, wait: null }],
	["respond-async, wait=100", { respondAsync: true, wait: 100 }],
	["Wait=5, wait=9", { respondAsync: false, wait: 5 }],
	['wait="7"; x=y, foo; bar', { respondAsync: false, wait: 7 }],
	['foo="a, respond-async, b", return=minimal', { respondAsync: false, wait: null }],
	['foo="\\", respond-async"', { respondAsync: false, wait: null }],
	["wait=soon", { respondAsync: false, wait: null }],
	["wait=-1", { respondAsync: false, wait: null }],
	["", { respondAsync: false, wait: null }],
])("Prefer: %s", (prefer, expected) => {
	expect(readPreferences(new Headers({ prefer }))).toEqual(expected);
});

test("Prefer sent twice is one list", () => {
	const headers = new Headers([
		["prefer", "respond-async"],
		["prefer", "wait=3"],
	]);
	expect(readPreferences(headers)).toEqual({ respondAsync: true, wait: 3 });
});

test.each([
	["abc", "abc"],
	['"abc"', "abc"],
	['"a\\"b\\\\"', 'a"b\\'],
	['a"b', 'a"b'],
	["x".repeat(255), "x".repeat(255)],
])("Idempotency-Key %s is %s", (header, key) => {
	expect(readIdempotencyHeader(new Headers({ "idempotency-key": header }))).toBe(key);
});

test.each(['""', "", "a b", "x".repeat(256), `"${"x".repeat(256)}"`, "é", "a\tb"])(
	"Idempotency-Key %j is a bad request",
	(header) => {
		const headers = new Headers({ "idempotency-key": header });
		expect(codeOf(() => readIdempotencyHeader(headers))).toBe("bad_request");
	},
);

test.each([
	["application/vnd.apache.arrow.stream", "fine"],
	["Application/Vnd.Apache.Arrow.File; version=1", "fine"],
	["application/octet-stream", "fine"],
	["application/x-www-form-urlencoded", "fine"],
	["application/json", "unsupported_media_type"],
	["multipart/form-data; boundary=x", "unsupported_media_type"],
	["text/csv", "unsupported_media_type"],
])("Arrow of type %s: %s", (type, outcome) => {
	expect(codeOf(() => assertArrowType(new Headers({ "content-type": type })))).toBe(outcome);
	expect(codeOf(() => assertArrowType(new Headers()))).toBe("fine");
});

test.each([
	["application/json; charset=utf-8", "fine"],
	["application/merge-patch+json", "fine"],
	["application/x-www-form-urlencoded", "fine"],
	["text/plain", "unsupported_media_type"],
])("JSON of type %s: %s", (type, outcome) => {
	expect(codeOf(() => assertJsonType(new Headers({ "content-type": type })))).toBe(outcome);
});

test.each([
	["gzip", "gzip"],
	["X-GZIP", "gzip"],
	["zstd", "zstd"],
	["identity", "identity"],
	["identity, gzip", "gzip"],
])("Content-Encoding %s is %s", (header, coding) => {
	expect(readContentEncoding(new Headers({ "content-encoding": header }))).toBe(coding);
});

test.each(["br", "deflate", "gzip, gzip", "gzip, zstd"])(
	"Content-Encoding %s is refused",
	(header) => {
		const headers = new Headers({ "content-encoding": header });
		expect(codeOf(() => readContentEncoding(headers))).toBe("unsupported_media_type");
	},
);

test("Content-Digest is read as hex, others than sha-256 are left alone", () => {
	const digest = "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:";
	const hex = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
	const read = (header: string) => readContentDigest(new Headers({ "content-digest": header }));
	expect(read(digest)).toBe(hex);
	expect(read(`sha-512=:AAAA:, ${digest}`)).toBe(hex);
	expect(read("sha-512=:AAAA:")).toBeNull();
	expect(readContentDigest(new Headers())).toBeNull();
	expect(codeOf(() => read("sha-256=:AAAA:"))).toBe("bad_request");
	expect(codeOf(() => read("sha-256=47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="))).toBe(
		"bad_request",
	);
});

test("a request id is the caller's where it is harmless", () => {
	const read = (id: string) => readRequestId(new Headers({ "x-request-id": id }));
	expect(read("a.B-1_")).toBe("a.B-1_");
	for (const id of ["", "a b", "x".repeat(65), "a/b", "é"]) {
		expect(read(id)).toMatch(/^[0-9a-f-]{36}$/);
	}
});

test("a traceparent is kept where it is one", () => {
	const read = (text: string) => readTraceparent(new Headers({ traceparent: text }));
	const good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
	expect(read(good)).toBe(good);
	expect(read(good.replace(/^00/, "ff"))).toBeNull();
	expect(read(good.replace("4bf92f3577b34da6a3ce929d0e0e4736", "0".repeat(32)))).toBeNull();
	expect(read("x")).toBeNull();
});
