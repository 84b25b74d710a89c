/**
 * In: a Parquet file at rest. Out: its footer, read and held against the file's size, the
 * limits and itself, before anything native sees the file. What the pages hold is not looked
 * at here: DuckDB's reader does that.
 *
 *   magic at both ends > length of the footer > its Thrift > the schema > every column chunk
 *
 * https://parquet.apache.org/docs/file-format/
 * Errors: `not_arrow` no Parquet; `truncated_stream` its end is missing; `unsupported_codec`
 * encrypted, or compressed in a way that DuckDB doesn't read; `too_large`; `invalid_arrow`.
 */

import { IngestError } from "../errors.ts";
import type { Limits } from "../limits.ts";
import { invalidParquet } from "./invalid-parquet.ts";
import { type ParquetMetadata, type ParquetRowGroup, readMetadata } from "./parquet-metadata.ts";
import { type ParquetColumn, type ParquetLeaf, readSchema } from "./parquet-schema.ts";

export interface FileAtRest {
	readonly size: number;
	/** Exactly `length` bytes. */
	read(offset: number, length: number): Promise<Uint8Array>;
}

export interface ParquetFooter {
	rows: number;
	rowGroups: number;
	columns: ParquetColumn[];
	leaves: ParquetLeaf[];
}

type FooterLimits = Pick<
	Limits,
	"maxColumns" | "maxNesting" | "maxMetadataBytes" | "maxUploadBytes"
>;

/** `CompressionCodec`, by number. */
const codecs = ["none", "SNAPPY", "GZIP", "LZO", "BROTLI", "LZ4", "ZSTD", "LZ4_RAW"];
/** LZO, and the LZ4 of Hadoop's own framing. */
const unreadCodecs = new Set([3, 5]);
const magicBytes = 4;

export async function readParquetFooter(
	file: FileAtRest,
	limits: FooterLimits,
): Promise<ParquetFooter> {
	const { size } = file;
	const head = latin1(await file.read(0, Math.min(magicBytes, size)));
	if (head === "PARE") throw encrypted();
	if (head !== "PAR1") {
		throw new IngestError(
			"not_arrow",
			"the file is named .parquet and is no Parquet file: it does not begin with PAR1",
		);
	}
	const tail = size < 12 ? new Uint8Array(8) : await file.read(size - 8, 8);
	if (latin1(tail.subarray(4)) !== "PAR1") {
		throw new IngestError(
			"truncated_stream",
			`the Parquet file ends without its footer, after ${size} bytes; was it written to its end?`,
		);
	}
	const length = new DataView(tail.buffer, tail.byteOffset, 4).getUint32(0, true);
	const footerAt = size - 8 - length;
	if (footerAt < magicBytes) {
		throw invalidParquet(`its footer is said to have ${length} bytes of ${size}`);
	}
	if (length > limits.maxMetadataBytes) {
		throw new IngestError(
			"too_large",
			`the Parquet file's footer has ${length} bytes, ${limits.maxMetadataBytes} may be`,
			{ extra: { limit: limits.maxMetadataBytes } },
		);
	}
	const metadata = readMetadata(await file.read(footerAt, length));
	if (metadata.encrypted) throw encrypted();
	const { columns, leaves } = readSchema(metadata.schema, limits);
	checkRows(metadata, columns.length, limits);
	for (const [at, group] of metadata.groups.entries()) checkGroup(group, at, leaves, footerAt);
	return { rows: metadata.rows, rowGroups: metadata.groups.length, columns, leaves };
}

function checkRows({ rows, groups }: ParquetMetadata, columns: number, limits: FooterLimits): void {
	let sum = 0;
	let uncompressed = 0;
	for (const group of groups) {
		if (group.rows < 0) throw invalidParquet("a row group doesn't say how many rows it has");
		sum += group.rows;
		for (const chunk of group.chunks) uncompressed += Math.max(0, chunk.uncompressed);
	}
	if (rows !== sum) {
		throw invalidParquet(`its footer says ${rows} rows, its row groups have ${sum}`);
	}
	// Whatever its pages say: unpacked, every value of a column takes a bit at the least.
	const bytes = Math.max(uncompressed, (rows * columns) / 8);
	if (bytes > limits.maxUploadBytes) {
		throw new IngestError(
			"too_large",
			`the Parquet file has at least ${Math.ceil(bytes)} bytes when unpacked, a load takes ${limits.maxUploadBytes}`,
			{ extra: { limit: limits.maxUploadBytes } },
		);
	}
}

function checkGroup(
	{ rows, chunks }: ParquetRowGroup,
	at: number,
	leaves: readonly ParquetLeaf[],
	footerAt: number,
): void {
	if (chunks.length !== leaves.length) {
		throw invalidParquet(
			`row group ${at} has ${chunks.length} column chunks, the schema has ${leaves.length} leaves`,
			{ batch: at },
		);
	}
	for (const [n, chunk] of chunks.entries()) {
		const { path, flat } = leaves[n]!;
		const place = { column: path, batch: at };
		const where = `column ${JSON.stringify(path)} of row group ${at}`;
		if (chunk.encrypted) throw encrypted();
		if (chunk.filePath !== "") {
			throw invalidParquet(`${where} lies in another file`, place);
		}
		if (unreadCodecs.has(chunk.codec) || codecs[chunk.codec] === undefined) {
			const codec = codecs[chunk.codec] ?? `codec ${chunk.codec}`;
			throw new IngestError(
				"unsupported_codec",
				`${where} is compressed with ${codec}, which is not read; ZSTD and Snappy are`,
				place,
			);
		}
		if (chunk.values < 0 || (flat && chunk.values !== rows)) {
			throw invalidParquet(`${where} has ${chunk.values} values for ${rows} rows`, place);
		}
		const { dictionaryAt: dictionary, dataAt } = chunk;
		// Some writers say 0 where there is no dictionary.
		const start = dictionary === null || dictionary === 0 ? dataAt : Math.min(dictionary, dataAt);
		if (
			rows > 0 &&
			(start < magicBytes || chunk.compressed < 0 || start + chunk.compressed > footerAt)
		) {
			throw invalidParquet(
				`${where} is said to lie at byte ${start} with ${chunk.compressed} bytes, before it are ${magicBytes}, the footer begins at ${footerAt}`,
				place,
			);
		}
	}
}

const encrypted = () =>
	new IngestError("unsupported_codec", "the Parquet file is encrypted; write it without");

const latin1 = (bytes: Uint8Array) => String.fromCharCode(...bytes);
