/**
 * Compressed bodies: each buffer on its own, behind the int64 of its real length.
 *
 *   <int64 little-endian: bytes when unpacked, or -1: not compressed> <bytes>
 *
 * https://arrow.apache.org/docs/format/Columnar.html#compression
 */

import type { BodyCompression } from "apache-arrow/fb/body-compression";
import { IngestError } from "../errors.ts";
import type { Codecs } from "./codecs.ts";
import type { Metadata } from "./types.ts";
import { readSize } from "./wire/int64.ts";

export const bodyCodecs = ["lz4_frame", "zstd"] as const;
export type BodyCodec = (typeof bodyCodecs)[number];

const prefixBytes = 8;
/** What Arrow 0.17.0 wrote into the message's metadata before the format had a field for it. */
const experimentalKey = "ARROW:experimental_compression";
const experimentalCodecs: Record<string, BodyCodec | null> = {
	uncompressed: null,
	lz4: "lz4_frame",
	lz4_frame: "lz4_frame",
	zstd: "zstd",
};

/** Message.fbs, enum CompressionType and BodyCompressionMethod. Null: not compressed. */
export function readBodyCodec(
	compression: BodyCompression | null,
	messageMetadata: Metadata,
): BodyCodec | null {
	if (compression === null) return readExperimentalCodec(messageMetadata);
	const codec = bodyCodecs[compression.codec() as number];
	if (codec === undefined || (compression.method() as number) !== 0) {
		throw new IngestError(
			"unsupported_codec",
			`body compression ${compression.codec()} by method ${compression.method()} is not known; LZ4 frame (0) and ZSTD (1) of each buffer (0) are`,
		);
	}
	return codec;
}

function readExperimentalCodec(metadata: Metadata): BodyCodec | null {
	const value = metadata.get(experimentalKey);
	if (value === undefined) return null;
	const name = new TextDecoder().decode(value).toLowerCase();
	const codec = Object.hasOwn(experimentalCodecs, name) ? experimentalCodecs[name] : undefined;
	if (codec !== undefined) return codec;
	throw new IngestError(
		"unsupported_codec",
		`body compression ${JSON.stringify(name)} of ${experimentalKey} is not known; lz4 and zstd are`,
	);
}

/** Bytes that buffer `index` says it has when unpacked. */
export function uncompressedLength(packed: Uint8Array, index: number | string): number {
	if (packed.byteLength === 0) return 0;
	if (packed.byteLength < prefixBytes) {
		throw new IngestError(
			"invalid_arrow",
			`compressed buffer ${index} of ${packed.byteLength} bytes has no length before it`,
		);
	}
	const view = new DataView(packed.buffer, packed.byteOffset, prefixBytes);
	if (view.getInt32(0, true) === -1 && view.getInt32(4, true) === -1) {
		return packed.byteLength - prefixBytes;
	}
	return readSize(view, 0, `the unpacked length of buffer ${index}`);
}

/** The caller has checked the sum of all `uncompressedLength`s of the batch against its limit. */
export function unpackBuffer(
	packed: Uint8Array,
	codec: BodyCodec,
	codecs: Codecs,
	path: string,
): Uint8Array {
	const size = uncompressedLength(packed, `of column ${path}`);
	if (size === 0) return emptyBytes;
	const payload = packed.subarray(prefixBytes);
	// -1 of the int64: nothing else that has passed is negative.
	if (packed[7] === 0xff) return payload;
	try {
		const unpacked =
			codec === "zstd"
				? codecs.zstd(payload, size)
				: codecs.lz4Frame(payload, size, codecs.allocate);
		if (unpacked.byteLength === size) return unpacked;
		throw new Error(`unpacks to ${unpacked.byteLength} bytes`);
	} catch (error) {
		const reason = error instanceof Error ? error.message : String(error);
		throw new IngestError(
			"invalid_arrow",
			`column ${path}: a buffer of ${payload.byteLength} bytes of ${codec} does not unpack to ${size}: ${reason}`,
			{ column: path, cause: error },
		);
	}
}

const emptyBytes = new Uint8Array(0);
