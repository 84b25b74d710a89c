/**
 * Bytes into a DuckDB file by the service's own code: openArrow, then the sink.
 * Every load is a table of its own, and is read back by plain SQL on an instance
 * of its own after the sink has let the file go.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import type { ByteSource } from "../../src/arrow/byte-source.ts";
import { openArrow } from "../../src/arrow/open-arrow.ts";
import { systemClock } from "../../src/clock.ts";
import type { LoadMode, LoadParameters, Receipt } from "../../src/flow.ts";
import type { SinkDatabase } from "../../src/insert/batch-sink.ts";
import { createDuckdbSink } from "../../src/insert/duckdb/duckdb-sink.ts";
import { defaultLimits, type Limits } from "../../src/limits.ts";
import { silentLog } from "../../src/log.ts";
import { nodeCodecs } from "../../src/replay/node-codecs.ts";

/** `atRest` false: the bytes only come by, in chunks of `chunkBytes`. */
export function bytesSource(
	bytes: Uint8Array,
	{ atRest = true, chunkBytes = 65_536, name = "bytes" } = {},
): ByteSource {
	return {
		name,
		async *stream(signal) {
			for (let at = 0; at < bytes.length; at += chunkBytes) {
				signal.throwIfAborted();
				yield bytes.slice(at, at + chunkBytes);
			}
		},
		atRest: atRest
			? {
					size: bytes.length,
					read: async (offset, length) => bytes.slice(offset, offset + length),
				}
			: null,
	};
}

export class Loader {
	readonly #folder = mkdtempSync(
		join(process.env.DUCKDOCK_TEST_FOLDER ?? tmpdir(), "conformance-"),
	);
	readonly #path = join(this.#folder, "acme.duckdb");
	readonly #limits: Limits;
	readonly #sink;
	#database: SinkDatabase | null = null;
	#reader: { instance: DuckDBInstance; connection: DuckDBConnection } | null = null;
	#loads = 0;

	constructor(limits: Partial<Limits> = {}) {
		this.#limits = { ...defaultLimits, ...limits };
		this.#sink = createDuckdbSink({
			target: join(this.#folder, "{tenant}.duckdb"),
			clock: systemClock,
			log: silentLog,
			threads: 2,
		});
	}

	/** The receipt, or the error thrown. */
	async load(
		sources: ByteSource[],
		table: string,
		signal: AbortSignal,
		mode: LoadMode = "create",
	): Promise<Receipt> {
		this.#closeReader();
		this.#database ??= await this.#sink.open("acme", signal);
		const stop = new AbortController();
		const loadId = `01CONF${String(++this.#loads).padStart(20, "0")}`;
		const startedAt = new Date().toISOString();
		const job = async () => ({
			loadId,
			parameters: parametersOf(table, mode),
			reader: await openArrow(sources, {
				codecs: nodeCodecs,
				limits: this.#limits,
				requireEos: false,
				signal: AbortSignal.any([stop.signal, signal]),
			}),
			beforeCommit: async () => {},
			signal,
			receipt: (result: object, counts: object) =>
				({
					load_id: loadId,
					status: "committed",
					tenant: "acme",
					table: `main.${table}`,
					mode,
					parts: 1,
					source: { kind: "http" },
					attempts: 1,
					started_at: startedAt,
					committed_at: new Date().toISOString(),
					duration_ms: 1,
					...counts,
					...result,
				}) as unknown as Receipt,
		});
		try {
			const [outcome] = await this.#database.insert([await job()], job);
			if ("error" in outcome!) throw outcome.error;
			return outcome!.receipt;
		} finally {
			stop.abort();
		}
	}

	/** A connection of an instance of its own, after the sink has let the file go; until the next load. */
	async reader(): Promise<DuckDBConnection> {
		if (this.#reader === null) {
			await this.#release();
			const instance = await DuckDBInstance.create(this.#path);
			this.#reader = { instance, connection: await instance.connect() };
		}
		return this.#reader.connection;
	}

	#closeReader(): void {
		this.#reader?.connection.closeSync();
		this.#reader?.instance.closeSync();
		this.#reader = null;
	}

	async #release(): Promise<void> {
		await this.#database?.close();
		await this.#sink.close();
		this.#database = null;
	}

	async remove(): Promise<void> {
		this.#closeReader();
		await this.#release();
		rmSync(this.#folder, { recursive: true, force: true });
	}
}

function parametersOf(table: string, mode: LoadMode): LoadParameters {
	return {
		table: { schema: "main", table },
		mode,
		on_extra_columns: "error",
		dry_run: false,
		require_eos: false,
		rows: null,
		idempotency_key: null,
	};
}
