/**
 * In: the first bytes of a source. Out: whether Arrow can begin like this, and if not,
 * `not_arrow` with what they look like and what to do about it.
 */

import { IngestError } from "../errors.ts";

/** How many bytes are enough to tell. */
export const sniffBytes = 512;

/** https://arrow.apache.org/docs/format/Columnar.html#ipc-file-format */
export const fileMagic = "ARROW1";

/** Signatures at offset 0, first match counts. */
const signatures: { bytes: string; looksLike: string; advice: string }[] = [
	{
		bytes: "FEA1",
		looksLike: "a Feather V1 file",
		advice: "write it again as Feather V2, which is an Arrow file (pyarrow.feather.write_feather)",
	},
	{
		bytes: "PAR1",
		looksLike: "a Parquet file",
		advice: "read it and write it as Arrow (pyarrow.parquet.read_table, pyarrow.ipc.new_stream)",
	},
	{
		bytes: "PARE",
		looksLike: "an encrypted Parquet file",
		advice: "decrypt it and write it as Arrow",
	},
	{
		bytes: "\x1f\x8b",
		looksLike: "gzip",
		advice: "send it with Content-Encoding: gzip, or unpacked",
	},
	{
		bytes: "\x28\xb5\x2f\xfd",
		looksLike: "zstd",
		advice: "send it with Content-Encoding: zstd, or unpacked",
	},
	{
		bytes: "\x04\x22\x4d\x18",
		looksLike: "an LZ4 frame",
		advice: "unpack it; LZ4 belongs inside Arrow's record batches, not around them",
	},
	{ bytes: "BZh", looksLike: "bzip2", advice: "unpack it" },
	{ bytes: "\xfd7zXZ\x00", looksLike: "xz", advice: "unpack it" },
	{
		bytes: "PK\x03\x04",
		looksLike: "a zip archive",
		advice: "unpack it and send the Arrow file in it",
	},
	{ bytes: "ORC", looksLike: "an ORC file", advice: "read it and write it as Arrow" },
	{ bytes: "Obj\x01", looksLike: "an Avro file", advice: "read it and write it as Arrow" },
	{
		bytes: "SQLite format 3\0",
		looksLike: "an SQLite database",
		advice: "export a table as Arrow",
	},
	{
		bytes: "\x89HDF\r\n\x1a\n",
		looksLike: "an HDF5 file",
		advice: "read it and write it as Arrow",
	},
	{ bytes: "%PDF-", looksLike: "a PDF", advice: "send an Arrow IPC stream or file" },
];
/** DuckDB's own file: https://duckdb.org/docs/stable/internals/storage.html */
const duckdbMagic = { at: 8, bytes: "DUCK" };

/** Does a complete stream or file begin here? `head` are up to `sniffBytes` bytes, fewer only at the end. */
export function beginsArrow(head: Uint8Array): boolean {
	if (startsWith(head, fileMagic.slice(0, head.byteLength))) return head.byteLength > 0;
	if (head.byteLength < 4) return head.byteLength > 0 && head.every((byte) => byte === 0xff);
	const marker = head.subarray(0, 4).every((byte) => byte === 0xff);
	return marker || beginsLegacyMessage(head);
}

/**
 * Before Arrow 0.15 a message began with its length. A flatbuffer follows, whose root
 * table lies a few bytes on.
 */
export function beginsLegacyMessage(head: Uint8Array): boolean {
	if (head.byteLength < 8) return false;
	const view = new DataView(head.buffer, head.byteOffset, 8);
	const length = view.getInt32(0, true);
	const root = view.getUint32(4, true);
	return length >= 16 && root >= 4 && root <= Math.min(length - 4, 256) && root % 2 === 0;
}

/** Throws unless Arrow can begin like this. `name` is the source's. */
export function requireArrow(head: Uint8Array, name: string): void {
	if (beginsArrow(head)) return;
	const { looksLike, advice } = describe(head);
	throw new IngestError(
		"not_arrow",
		`${name} is not Arrow: it looks like ${looksLike}; ${advice}`,
		{
			extra: { looks_like: looksLike },
		},
	);
}

/** What data of another kind `head` begins, or null where nothing is known. */
export function knownFormat(head: Uint8Array): string | null {
	if (hasAt(head, duckdbMagic.at, duckdbMagic.bytes)) return "a DuckDB database";
	return signatures.find(({ bytes }) => startsWith(head, bytes))?.looksLike ?? null;
}

const sendArrow = "send an Arrow IPC stream or file";

function describe(head: Uint8Array): { looksLike: string; advice: string } {
	if (head.byteLength === 0) return { looksLike: "nothing: it is empty", advice: sendArrow };
	if (head.every((byte) => byte === 0)) {
		return { looksLike: "zeros", advice: `${sendArrow}; was the file written to its end?` };
	}
	if (hasAt(head, duckdbMagic.at, duckdbMagic.bytes)) {
		return { looksLike: "a DuckDB database", advice: "export a table as Arrow" };
	}
	const known = signatures.find(({ bytes }) => startsWith(head, bytes));
	if (known) return known;
	return describeText(head) ?? { looksLike: "unknown binary data", advice: sendArrow };
}

function describeText(head: Uint8Array): { looksLike: string; advice: string } | null {
	const text = asText(head)?.trimStart();
	if (text === undefined) return null;
	if (/^<(!doctype html|html|\?xml|error)/i.test(text)) {
		return {
			looksLike: "HTML or XML",
			advice: "this may be an error page saved in place of the data; look at it",
		};
	}
	if (text.startsWith("version https://git-lfs")) {
		return { looksLike: "a Git LFS pointer", advice: "fetch the file itself with git lfs pull" };
	}
	if (/^[[{]/.test(text)) {
		return { looksLike: "JSON", advice: "read it and write it as Arrow (pyarrow.json.read_json)" };
	}
	const lines = text.split(/\r?\n/);
	const delimiter = [",", "\t", ";", "|"].find((mark) => lines[0]!.includes(mark));
	if (delimiter !== undefined) {
		return { looksLike: "CSV", advice: "read it and write it as Arrow (pyarrow.csv.read_csv)" };
	}
	return { looksLike: "text", advice: sendArrow };
}

/** UTF-8, perhaps cut inside its last character, without control characters; else undefined. */
function asText(head: Uint8Array): string | undefined {
	try {
		const text = new TextDecoder("utf-8", { fatal: true }).decode(head, { stream: true });
		// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what tells binary data from text
		return /[\x00-\x08\x0e-\x1f]/.test(text) ? undefined : text;
	} catch {
		return undefined;
	}
}

function startsWith(head: Uint8Array, latin1: string): boolean {
	return hasAt(head, 0, latin1);
}

function hasAt(head: Uint8Array, at: number, latin1: string): boolean {
	if (head.byteLength < at + latin1.length) return false;
	for (let i = 0; i < latin1.length; i++) {
		if (head[at + i] !== latin1.charCodeAt(i)) return false;
	}
	return true;
}
