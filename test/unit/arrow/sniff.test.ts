import { gzipSync, zstdCompressSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { errorOf, readBack, sourceOf } from "./support/read-ipc.ts";
import { concat } from "./support/write-ipc.ts";

const text = (value: string) => new TextEncoder().encode(value);

describe("what is not Arrow", () => {
	test.each<[string, Uint8Array, RegExp]>([
		["a Feather V1 file", concat(text("FEA1"), new Uint8Array(60)), /Feather V2/],
		["a Parquet file", concat(text("PAR1"), new Uint8Array(60)), /pyarrow/],
		["gzip", gzipSync(text("x")), /Content-Encoding: gzip/],
		["zstd", zstdCompressSync(text("x")), /Content-Encoding: zstd/],
		["a zip archive", concat(text("PK\x03\x04"), new Uint8Array(60)), /unpack/],
		["CSV", text("id,name\n1,a\n2,b\n"), /read_csv/],
		["CSV", text("\ufeffid;name\n1;ä\n"), /read_csv/],
		["JSON", text('{"a": 1}\n{"a": 2}\n'), /read_json/],
		["JSON", text("[1, 2]"), /read_json/],
		["HTML or XML", text("<!DOCTYPE html><html></html>"), /error page/],
		["HTML or XML", text('<?xml version="1.0"?><Error/>'), /error page/],
		[
			"a Git LFS pointer",
			text("version https://git-lfs.github.com/spec/v1\noid sha256:0\n"),
			/git lfs pull/,
		],
		["text", text("hello world"), /Arrow IPC stream/],
		["nothing", new Uint8Array(0), /empty/],
		["zeros", new Uint8Array(4096), /to its end/],
		["zeros", new Uint8Array(3), /to its end/],
		[
			"unknown binary data",
			Uint8Array.from({ length: 500 }, (_, i) => (i * 37 + 129) & 0xff),
			/Arrow IPC stream/,
		],
		["a DuckDB database", concat(new Uint8Array(8), text("DUCK"), new Uint8Array(100)), /export/],
		["an LZ4 frame", Uint8Array.of(0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82), /unpack/],
	])("%s is named, with what to do about it", async (looksLike, bytes, advice) => {
		for (const chunkBytes of [1, 1000]) {
			for (const atRest of [true, false]) {
				const error = await errorOf(
					readBack(sourceOf(bytes, { chunkBytes, atRest, name: "upload 7" })),
				);
				expect(error.code).toBe("not_arrow");
				expect(error.message).toMatch(/^upload 7 is not Arrow/);
				expect(error.message).toContain(looksLike);
				expect(error.message).toMatch(advice);
			}
		}
	});
});
