/** A sink on files in a folder of its own, jobs for it, and a second way to look at what it wrote. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { systemClock } from "../../src/clock.ts";
import { IngestError } from "../../src/errors.ts";
import type { LoadParameters, LoadSource, Receipt } from "../../src/flow.ts";
import type {
	BatchSink,
	InsertJob,
	InsertOutcome,
	SinkDatabase,
} from "../../src/insert/batch-sink.ts";
import { createDuckdbSink, type DuckdbSinkOptions } from "../../src/insert/duckdb/duckdb-sink.ts";
import { silentLog } from "../../src/log.ts";
import { formatTableName, parseTableName } from "../../src/table-name.ts";
import { type Column, type ReaderOptions, readerOf } from "./arrow-columns.ts";

export interface Load extends Partial<Omit<LoadParameters, "table">>, Omit<ReaderOptions, "rows"> {
	table?: string;
	columns?: Column[];
	batches?: Column[][];
	reader?: () => InsertJob["reader"];
	loadId?: string;
	source?: LoadSource;
	bytes?: number;
	beforeCommit?: InsertJob["beforeCommit"];
	signal?: AbortSignal;
}

let lastLoad = 0;

export function jobOf(load: Load): InsertJob {
	const loadId = load.loadId ?? `01TEST${String(++lastLoad).padStart(20, "0")}`;
	const parameters: LoadParameters = {
		table: parseTableName(load.table ?? "t"),
		mode: load.mode ?? "create_append",
		on_extra_columns: load.on_extra_columns ?? "error",
		dry_run: load.dry_run ?? false,
		require_eos: false,
		rows: load.rows ?? null,
		idempotency_key: null,
	};
	const { rows: _, ...readerOptions } = load;
	return {
		loadId,
		parameters,
		reader: load.reader?.() ?? readerOf(load.batches ?? [load.columns!], readerOptions),
		...(load.bytes === undefined ? {} : { bytes: load.bytes }),
		beforeCommit: load.beforeCommit ?? (async () => {}),
		signal: load.signal ?? new AbortController().signal,
		receipt: (result, counts) => {
			const { ddl, ...kept } = result;
			return {
				load_id: loadId,
				status: parameters.dry_run ? "dry_run" : "committed",
				tenant: "acme",
				table: formatTableName(parameters.table),
				mode: parameters.mode,
				...counts,
				...kept,
				parts: 1,
				source: load.source ?? { kind: "http" },
				attempts: 1,
				started_at: "2026-11-30T10:00:00.123Z",
				committed_at: "2026-11-30T10:00:01.456Z",
				duration_ms: 1333,
				...(parameters.dry_run ? { ddl } : {}),
			};
		},
	};
}

export class SinkFixture {
	readonly folder = mkdtempSync(join(tmpdir(), "duckdock-sink-"));
	readonly path = join(this.folder, "acme.duckdb");
	readonly options: DuckdbSinkOptions;
	#sink: BatchSink | null = null;
	#database: SinkDatabase | null = null;

	constructor(options: Partial<DuckdbSinkOptions> = {}) {
		this.options = {
			target: join(this.folder, "{tenant}.duckdb"),
			clock: systemClock,
			log: silentLog,
			threads: 2,
			lingerMs: 20,
			lockWaitMs: 300,
			...options,
		};
	}

	sink(): BatchSink {
		this.#sink ??= createDuckdbSink(this.options);
		return this.#sink;
	}

	async database(): Promise<SinkDatabase> {
		this.#database ??= await this.sink().open("acme", AbortSignal.timeout(30_000));
		return this.#database;
	}

	/** Outcomes of loads that are handed to the sink together. */
	async insertAll(...loads: Load[]): Promise<InsertOutcome[]> {
		const database = await this.database();
		const ids = loads.map((load) => load.loadId ?? jobOf(load).loadId!);
		const make = (at: number) => jobOf({ ...loads[at]!, loadId: ids[at]! });
		return await database.insert(
			loads.map((_, at) => make(at)),
			async (at) => make(at),
		);
	}

	/** The receipt of one load, or its error thrown. */
	async insert(load: Load): Promise<Receipt> {
		const [outcome] = await this.insertAll(load);
		if ("error" in outcome!) throw outcome.error;
		return outcome!.receipt;
	}

	/** The IngestError of one load. */
	async refusal(load: Load): Promise<IngestError> {
		const [outcome] = await this.insertAll(load);
		if ("receipt" in outcome!) throw new Error("the load was committed");
		if (!(outcome!.error instanceof IngestError)) throw outcome!.error;
		return outcome!.error;
	}

	/** Lets the file go, runs statements in an instance that has it as its own, and returns the last one's rows. */
	async sql(...statements: string[]): Promise<unknown[][]> {
		await this.close();
		const instance = await DuckDBInstance.create(this.path);
		const connection = await instance.connect();
		try {
			await connection.run("SET TimeZone = 'UTC'");
			let last: unknown[][] = [];
			for (const statement of statements)
				last = await (await connection.run(statement)).getRowsJson();
			return last;
		} finally {
			connection.closeSync();
			instance.closeSync();
		}
	}

	/** Everything a refused load must leave as it was: all tables with their rows, and no view. An empty ledger may appear. */
	async snapshot(): Promise<unknown> {
		const tables = await this.sql(
			"SELECT schema_name, table_name, sql FROM duckdb_tables() WHERE schema_name <> '_duckdock' ORDER BY ALL",
		);
		const contents: unknown[] = [];
		for (const [schema, table] of tables) {
			contents.push(await this.sql(`SELECT * FROM "${schema}"."${table}" ORDER BY ALL`));
		}
		const ledger = await this.sql(
			"SELECT count(*) FROM duckdb_tables() WHERE schema_name = '_duckdock' AND estimated_size > 0",
		);
		const views = await this.sql("SELECT view_name FROM duckdb_views() WHERE NOT internal");
		return { tables, contents, ledger, views };
	}

	async close(): Promise<void> {
		await this.#database?.close();
		await this.#sink?.close();
		this.#database = null;
		this.#sink = null;
	}

	async remove(): Promise<void> {
		await this.close();
		rmSync(this.folder, { recursive: true, force: true });
	}
}
