/** What the programs of this folder share: each is run as a process of its own by a test. */
import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { type BatchDescription, RecordBatchStream, type StreamOptions } from "../../index.js";
import { array, batch, field } from "../arrays.ts";

export async function connect(): Promise<DuckDBConnection> {
	const connection = await (await DuckDBInstance.create(":memory:")).connect();
	await connection.run("CREATE TABLE target (i BIGINT, s VARCHAR)");
	return connection;
}

/** A BIGINT and a VARCHAR column, in one ArrayBuffer. */
export const fields = [field("i", "l"), field("s", "u")];

const textBytes = 24;

/** `rows` rows in one ArrayBuffer, as a message body would be. */
export function rowsOf(rows: number, from = 0): BatchDescription {
	const dataAt = rows * 8;
	const offsetsAt = dataAt + rows * textBytes;
	const body = new ArrayBuffer(offsetsAt + (rows + 1) * 4);
	const ids = new BigInt64Array(body, 0, rows);
	const data = new Uint8Array(body, dataAt, rows * textBytes);
	const offsets = new Int32Array(body, offsetsAt, rows + 1);
	for (let row = 0; row < rows; row++) {
		ids[row] = BigInt(from + row);
		offsets[row + 1] = (row + 1) * textBytes;
	}
	data.fill(0x61);
	return batch(array(rows, [null, ids]), array(rows, [null, offsets, data]));
}

export function open(connection: DuckDBConnection, view: string, options?: StreamOptions) {
	const stream = new RecordBatchStream(fields, options);
	stream.scan(connection, view);
	return stream;
}

export const sleep = (milliseconds: number) =>
	new Promise<void>((resolve) => setTimeout(resolve, milliseconds));

/** Programs run with --expose-gc. Twice: finalizers run between. */
export async function collectGarbage(): Promise<void> {
	for (let i = 0; i < 3; i++) {
		(globalThis as unknown as { gc: () => void }).gc();
		await sleep(5);
	}
}
