/**
 * One load's batches as a view that DuckDB reads once.
 *
 * In: the reader of a load, or of several that have the same columns, and which of
 * them to scan. Out: the view's
 * columns as DuckDB binds them, and a pump that fills the stream behind it.
 * Order: open (stream and view, in autocommit on a connection whose default
 * database is `:memory:`), pump (begins before the statement, so that a small
 * load is read and checked before its transaction opens), the statement, close.
 * Close drops the view and is called on every path; a second close does nothing.
 */

import { randomBytes } from "node:crypto";
import type { DuckDBConnection } from "@duckdb/node-api";
import type { BatchReader } from "../../arrow/batch-reader.ts";
import { typeName } from "../../arrow/type-name.ts";
import type { CheckedBatch, Field, Metadata } from "../../arrow/types.ts";
import { noLongerNeeded } from "../../clock.ts";
import { IngestError } from "../../errors.ts";
import type { ScannedColumn } from "./insert-plan.ts";
import { openBatchStream } from "./native-stream.ts";
import type { RowScan } from "./row-scan.ts";
import { quoteIdentifier } from "./sql-names.ts";
import { columnTypes, rows } from "./target-table.ts";

/** `readers` all have the fields of the first. `unsupported_type` with the column where DuckDB can't scan one. */
export async function openArrowScan(
	connection: DuckDBConnection,
	readers: readonly BatchReader[],
	positions: readonly number[],
	options: { copy: boolean; signal: AbortSignal },
): Promise<RowScan> {
	const reader = readers[0]!;
	const fields = positions.map((at) => reader.engineFields[at]!);
	const stream = openBatchStream(fields, { copy: options.copy });
	const name = `arrow_${randomBytes(12).toString("hex")}`;
	const view = `memory.main.${quoteIdentifier(name)}`;
	const dropView = () => connection.run(`DROP VIEW IF EXISTS ${view}`);
	try {
		// The External that the addon checks by its type tag; node-api has no other way to it.
		const handle = (connection as unknown as { connection: unknown }).connection;
		try {
			stream.scan(handle, name);
		} catch (error) {
			throw refusal(error, reader, positions);
		}
		const columns = await bindView(connection, view, reader, positions);
		const stopping = new AbortController();
		const signal = AbortSignal.any([options.signal, stopping.signal]);
		const pump = startPump(stream, select(readers, positions, signal), stopping.signal);
		let open = true;
		return {
			view,
			columns,
			rowsHandedOver: () => stream.counts.rowsHandedOver,
			...pump,
			stop() {
				stopping.abort();
				stream.close();
			},
			async close() {
				if (!open) return;
				open = false;
				stopping.abort(noLongerNeeded);
				try {
					await dropView();
				} finally {
					stream.close();
					await pump.pumped.catch(() => {});
				}
			},
		};
	} catch (error) {
		await dropView().catch(() => {});
		stream.close();
		throw error;
	}
}

/** What DuckDB made of a schema, by the schema: uploads that repeat one need not ask again. */
const bindings = new Map<string, readonly Pick<ScannedColumn, "type" | "typeText">[]>();
const mostBindings = 256;
const longestBindingKey = 16_384;

async function bindView(
	connection: DuckDBConnection,
	view: string,
	reader: BatchReader,
	positions: readonly number[],
): Promise<ScannedColumn[]> {
	const key = schemaKey(positions.map((at) => reader.engineFields[at]!));
	let bound = bindings.get(key);
	if (!bound) {
		const described = await rows(connection, `DESCRIBE SELECT * FROM ${view}`);
		const texts = described.map(([, typeText]) => typeText as string);
		const types = await columnTypes(connection, `SELECT * FROM ${view}`, texts);
		bound = types.map((type, at) => ({ type, typeText: texts[at]! }));
		if (bound.length !== positions.length) {
			throw new IngestError(
				"internal",
				`${positions.length} columns were sent, DuckDB binds ${bound.length}`,
			);
		}
		if (bindings.size >= mostBindings) bindings.delete(bindings.keys().next().value!);
		if (key.length <= longestBindingKey) bindings.set(key, bound);
	}
	return positions.map((position, at) => ({
		field: reader.sentFields[position]!,
		...bound[at]!,
	}));
}

/** Equal for schemas that DuckDB can't tell apart; metadata names extensions. */
export function schemaKey(fields: readonly Field[]): string {
	return JSON.stringify(fields, (name, value) => {
		if (typeof value === "bigint") return String(value);
		if (name !== "metadata") return value;
		return [...(value as Metadata)].map(([key, bytes]) => [key, [...bytes]]);
	});
}

/** The addon names the column: `DuckDB refuses the schema: column 'x': reason`. */
function refusal(error: unknown, reader: BatchReader, positions: readonly number[]): IngestError {
	const text = error instanceof Error ? error.message : String(error);
	const position = positions.find((at) =>
		text.includes(`column '${reader.engineFields[at]!.name}': `),
	);
	if (position === undefined) return new IngestError("internal", text, { cause: error });
	const field = reader.sentFields[position]!;
	const reason = text.slice(text.indexOf("': ") + 3);
	return new IngestError(
		"unsupported_type",
		`column ${JSON.stringify(field.name)}: DuckDB has no type for ${typeName(field)}: ${reason}`,
		{ column: field.name, arrow_type: typeName(field), cause: error },
	);
}

type ScanBatch = Pick<CheckedBatch, "length" | "columns" | "memory">;

/** All batches of all readers, of each the columns at `positions`. */
async function* select(
	readers: readonly BatchReader[],
	positions: readonly number[],
	signal: AbortSignal,
): AsyncGenerator<ScanBatch> {
	for (const reader of readers) {
		const all = positions.length === reader.engineFields.length;
		for await (const batch of reader.batches(signal)) {
			yield all ? batch : { ...batch, columns: positions.map((at) => batch.columns[at]!) };
		}
	}
}

function startPump(
	stream: ReturnType<typeof openBatchStream>,
	batches: AsyncIterable<ScanBatch>,
	stopped: AbortSignal,
): { primed: Promise<void>; pumped: Promise<void> } {
	const primed = Promise.withResolvers<void>();
	const pumped = (async () => {
		try {
			for await (const batch of batches) {
				if (stopped.aborted) return;
				const { memory } = batch;
				// The only one who lets go of what DuckDB reads.
				const taken = stream.push(batch, memory && (() => memory.release()));
				primed.resolve();
				if (!(await taken)) return;
			}
			if (stream.isOpen) stream.end();
			primed.resolve();
		} catch (error) {
			stream.fail(error instanceof Error ? error.message : String(error));
			if (stopped.aborted) return;
			primed.reject(error);
			throw error;
		} finally {
			primed.resolve();
		}
	})();
	// Whoever waits sees the error; when the statement's own failure came first, nobody waits.
	pumped.catch(() => {});
	primed.promise.catch(() => {});
	return { primed: primed.promise, pumped };
}
