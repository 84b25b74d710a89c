/**
 * One input through the reader into a real DuckDB in memory, and back. Out: how it
 * ended, and how far it came. Only rows or an IngestError of the caller's fault are
 * right; `finds` says what else happened.
 */

import type { DuckDBConnection } from "@duckdb/node-api";
import type { BatchReader } from "../../src/arrow/batch-reader.ts";
import type { ByteSource } from "../../src/arrow/byte-source.ts";
import { openArrow } from "../../src/arrow/open-arrow.ts";
import type { CheckedBatch, Field } from "../../src/arrow/types.ts";
import { IngestError } from "../../src/errors.ts";
import { openArrowScan } from "../../src/insert/duckdb/arrow-scan.ts";
import { defaultLimits } from "../../src/limits.ts";
import { nodeCodecs } from "../../src/replay/node-codecs.ts";
import { type Canonical, firstDifference } from "../conformance/canonical.ts";
import { fromDuckdb } from "../conformance/canonical-duckdb.ts";
import { readFlechette } from "../conformance/canonical-flechette.ts";
import { mapMessages } from "./ipc-map.ts";
import type { FuzzInput } from "./make-input.ts";

export interface FuzzResult {
	/** `rows` or the code of the refusal. */
	outcome: string;
	pastSchema: boolean;
	pastFirstBatch: boolean;
	/** Cells were compared with what flechette reads. */
	compared: boolean;
	/** What should not have been. */
	find: string | null;
}

const limits = {
	...defaultLimits,
	/** The memory bound of a run rests on this. */
	maxBatchBytes: 32 * 1024 ** 2,
	maxUploadBytes: 256 * 1024 ** 2,
	maxColumns: 1_000,
};

/** Codes that say the fault is ours, not the input's. */
const ourFault = new Set(["internal", "target_unavailable", "store_unavailable", "timeout"]);

export async function runInput(
	input: FuzzInput,
	connection: DuckDBConnection,
): Promise<FuzzResult> {
	const result: FuzzResult = {
		outcome: "",
		pastSchema: false,
		pastFirstBatch: false,
		compared: false,
		find: null,
	};
	const stop = new AbortController();
	let reader: BatchReader | null = null;
	let told = "";
	try {
		reader = await open(input, input.chunks, stop.signal);
		result.pastSchema = true;
		await load("t", await collected(reader, stop.signal), connection, stop.signal);
		result.outcome = "rows";
		told = describeCounts(reader);
		result.find = await readBack(input, reader, connection, result);
	} catch (error) {
		told = describeError(error);
		if (error instanceof IngestError && !ourFault.has(error.code)) result.outcome = error.code;
		else {
			result.outcome = error instanceof IngestError ? error.code : "threw";
			result.find = error instanceof Error ? (error.stack ?? error.message) : String(error);
		}
	} finally {
		stop.abort();
	}
	if (reader !== null) result.pastFirstBatch = reader.counts().batches > 0;
	try {
		if (result.find === null && input.otherChunks !== null) {
			result.find = await differsInOtherChunks(input, input.otherChunks, told, connection);
		}
	} finally {
		for (const table of ["t", "u"]) {
			await connection.run(`DROP TABLE IF EXISTS memory.main.${table}`).catch(() => {});
		}
	}
	return result;
}

function open(
	input: FuzzInput,
	chunks: number[] | null,
	signal: AbortSignal,
): Promise<BatchReader> {
	return openArrow([sourceOf(input, chunks)], {
		codecs: nodeCodecs,
		limits,
		requireEos: false,
		signal,
	});
}

function describeCounts(reader: BatchReader): string {
	return JSON.stringify([reader.counts(), reader.warnings()]);
}

function describeError(error: unknown): string {
	if (!(error instanceof IngestError)) return String(error);
	return JSON.stringify([error.code, error.message, error.place]);
}

/**
 * "Any cut of the same bytes gives the same batches": the same rows, or the same error in the same words.
 * These batches go to the engine one by one, so that their memory is used again.
 */
async function differsInOtherChunks(
	input: FuzzInput,
	otherChunks: number[],
	told: string,
	connection: DuckDBConnection,
): Promise<string | null> {
	const stop = new AbortController();
	let toldNow = "";
	try {
		const reader = await open(input, otherChunks, stop.signal);
		await load("u", reader, connection, stop.signal);
		toldNow = describeCounts(reader);
		if (toldNow !== told) return `other chunks: ${told} and ${toldNow}`;
		const [rows, rowsNow] = [await print("t", connection), await print("u", connection)];
		const at = rows.findIndex((row, i) => row !== rowsNow[i]);
		if (at < 0 && rows.length === rowsNow.length) return null;
		return `other chunks: row ${at} of ${rows.length} is ${rows[at]} and ${rowsNow[at]} of ${rowsNow.length}`;
	} catch (error) {
		toldNow = describeError(error);
	} finally {
		stop.abort();
	}
	return toldNow === told ? null : `other chunks: ${told} and ${toldNow}`;
}

async function print(table: string, connection: DuckDBConnection): Promise<string[]> {
	const sql = `SELECT COLUMNS(*)::VARCHAR FROM memory.main.${table} ORDER BY rowid LIMIT 2000`;
	const rows = await (await connection.run(sql)).getRows();
	return rows.map((row) => JSON.stringify(row));
}

/**
 * All batches are read before the engine is asked: most inputs end here. They stay
 * valid after, for rows point into bodies of their own.
 */
async function collected(reader: BatchReader, signal: AbortSignal): Promise<BatchReader> {
	const batches: CheckedBatch[] = [];
	for await (const batch of reader.batches(signal)) batches.push(batch);
	return {
		sentFields: reader.sentFields,
		engineFields: reader.engineFields,
		async *batches() {
			yield* batches;
		},
		counts: () => reader.counts(),
		warnings: () => reader.warnings(),
	};
}

async function load(
	table: string,
	reader: BatchReader,
	connection: DuckDBConnection,
	signal: AbortSignal,
): Promise<void> {
	const positions = reader.engineFields.map((_, at) => at);
	const scan = await openArrowScan(connection, [reader], positions, { copy: false, signal });
	try {
		const statement = `CREATE TABLE memory.main.${table} AS SELECT * FROM ${scan.view}`;
		await connection.run(statement).catch(async (error) => {
			// The reader's own error has failed the statement, and is the one to tell.
			scan.stop();
			await scan.pumped;
			throw error;
		});
		await scan.pumped;
	} finally {
		await scan.close();
	}
}

/** Prints every value, which poisoned ones don't survive, and compares them with another reader's. */
async function readBack(
	input: FuzzInput,
	reader: BatchReader,
	connection: DuckDBConnection,
	result: FuzzResult,
): Promise<string | null> {
	const printed = await connection.run("SELECT COLUMNS(*)::VARCHAR FROM memory.main.t");
	const { rows_streamed } = reader.counts();
	if (rows_streamed === 0 || rows_streamed * reader.sentFields.length > 20_000) {
		const found = await printed.getRows();
		return found.length === rows_streamed ? null : `${found.length} rows of ${rows_streamed}`;
	}
	const read = await connection.run("SELECT * FROM memory.main.t");
	const types = read.columnTypes();
	const rows = await read.getRows();
	if (rows.length !== rows_streamed) return `${rows.length} rows of ${rows_streamed}`;
	const reference = flechetteColumns(input, reader, rows.length);
	if (reference === null) return null;
	result.compared = true;
	for (const [at, type] of types.entries()) {
		const expected = reference[at];
		if (!expected) continue;
		const actual = rows.map((row) => fromDuckdb(row[at]!, type));
		const found = firstDifference(expected, actual);
		if (found === null) continue;
		const name = reader.sentFields[at]!.name;
		return `differs: ${name} ${type} row ${found.row}: ${found.actual}, flechette ${found.expected}`;
	}
	return null;
}

/** By column; null where flechette can't judge. */
function flechetteColumns(
	input: FuzzInput,
	reader: BatchReader,
	rows: number,
): (Canonical[] | null)[] | null {
	// It does not swap bytes, and does not see the compression of 0.17.0.
	if (/bigendian|0\.17\.0_lz4/.test(input.origin)) return null;
	// It reads files by their footer, which may say other things than what comes by.
	const isFile = new TextDecoder().decode(input.bytes.subarray(0, 6)) === "ARROW1";
	if (isFile && input.chunks !== null) return null;
	let table: ReturnType<typeof readFlechette>;
	try {
		table = readFlechette(input.bytes.slice());
	} catch {
		return null;
	}
	// Of concatenated streams it reads the first, of a file what the footer lists or not.
	if ((table.columns[0]?.length ?? 0) !== rows) return null;
	if (table.names.length !== reader.sentFields.length) return null;
	// It reads all messages first and leaves each dictionary as it is at the end.
	const dictionaries = mapMessages(input.bytes.slice()).filter((message) => message.isDictionary);
	const lossy = reader.warnings().map(({ column }) => column);
	return table.columns.map((column, at) => {
		const sent = reader.sentFields[at]!;
		// It reads storage, and what a warning names has been changed on purpose.
		const isLossy = lossy.some(
			(path) =>
				path === sent.name ||
				path?.startsWith(`${sent.name}.`) ||
				path?.startsWith(`${sent.name}[`),
		);
		const isReplaced = dictionaries.length > 1 && hasDictionary(sent);
		return !hasMeaning(sent) && !isLossy && !isReplaced ? column : null;
	});
}

/** An extension at any depth that makes another type of its storage. */
function hasMeaning(field: Field): boolean {
	const extension = new TextDecoder().decode(field.metadata.get("ARROW:extension:name"));
	const isMeant = /^(arrow\.(bool8|opaque)|geoarrow\.|ogc\.|WK[BT])/.test(extension);
	return isMeant || field.children.some(hasMeaning);
}

function hasDictionary(field: Field): boolean {
	return field.dictionary !== null || field.children.some(hasDictionary);
}

/** In `cuts`; of an input at rest its bytes may be read where they are, too. */
function sourceOf({ bytes, chunks }: FuzzInput, cuts: number[] | null): ByteSource {
	return {
		name: "input",
		async *stream() {
			if (cuts === null) {
				yield bytes.slice();
				return;
			}
			for (let at = 0, turn = 0; at < bytes.length; turn++) {
				const next = at + cuts[turn % cuts.length]!;
				yield bytes.slice(at, next);
				at = next;
			}
		},
		atRest:
			chunks === null
				? {
						size: bytes.length,
						read: async (offset, length) => bytes.slice(offset, offset + length),
					}
				: null,
	};
}
