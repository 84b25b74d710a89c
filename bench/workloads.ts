/** What is measured, by name, and which paths run beside each other. */
import {
	adbcIngest,
	appendCells,
	type BenchCase,
	copyTable,
	flight,
	httpOneRequest,
	httpParts,
	httpPartsOnS3,
	load,
	manyUploads,
	pythonInProcess,
} from "./cases.ts";
import {
	type Dataset,
	lineitem,
	lineitemShaped,
	narrow,
	shape,
	wide,
} from "./datasets/datasets.ts";

export type { BenchCase, RunResult } from "./cases.ts";

export interface Workload {
	name: string;
	describe: string;
	/** Part of a bench that names none. */
	usual: boolean;
	rounds: number;
	/** The case whose median is 1. */
	yardstick: string;
	prepare(python: string | null): Promise<BenchCase[]>;
}

const python1 = "DuckDB for Python in-process";
const limit = "DuckDB table to table";

function allPaths(data: Dataset, python: string | null): BenchCase[] {
	return [
		load(data),
		httpOneRequest(data),
		httpParts(data),
		...(python === null
			? []
			: [
					pythonInProcess(python, data, python1),
					adbcIngest(python, data),
					flight(python, data),
					httpPartsOnS3(data),
				]),
		copyTable(data, limit),
	];
}

export const workloads: readonly Workload[] = [
	{
		name: "lineitem",
		describe: "TPC-H lineitem, scale factor 1, in 50,000-row batches into a new DuckDB file",
		usual: true,
		rounds: 3,
		yardstick: python1,
		prepare: async (python) => allPaths(await lineitem(1, 50_000, python), python),
	},
	{
		name: "lineitem2",
		describe: "TPC-H lineitem, scale factor 2",
		usual: false,
		rounds: 3,
		yardstick: python1,
		prepare: async (python) => allPaths(await lineitem(2, 50_000, python), python),
	},
	{
		name: "appender",
		describe: "1 M rows of lineitem's shape, beside node-api's Appender cell by cell",
		usual: true,
		rounds: 3,
		yardstick: "Appender, cell by cell",
		async prepare() {
			const data = await lineitemShaped(1_000_000, 50_000);
			return [appendCells(data), load(data), httpParts(data), copyTable(data, limit)];
		},
	},
	{
		name: "narrow",
		describe: "5 M rows of int64 and float64",
		usual: false,
		rounds: 5,
		yardstick: python1,
		prepare: async (python) => allPaths(await narrow(5_000_000, 50_000), python),
	},
	{
		name: "wide",
		describe: "1 M rows of 50 int64 columns, buffers pinned and copied",
		usual: false,
		rounds: 3,
		yardstick: python1,
		async prepare(python) {
			const data = await wide(1_000_000, 50, 50_000);
			return [
				load(data, "duckdock load, pinned"),
				load(data, "duckdock load, copied", { DUCKDOCK_ARROW_COPY: "1" }),
				...(python === null ? [] : [pythonInProcess(python, data, python1)]),
				copyTable(data, limit),
			];
		},
	},
	{
		name: "batches",
		describe:
			"4 M narrow rows in batches of 100 rows to all in one; seconds beside those of 100,000",
		usual: false,
		rounds: 3,
		yardstick: "100000 rows",
		prepare: () =>
			Promise.all(
				[100, 1_000, 10_000, 100_000, 1_000_000, 4_000_000].map(async (batchRows) =>
					load(await narrow(4_000_000, batchRows), `${batchRows} rows`),
				),
			),
	},
	{
		name: "small",
		describe: "1,000-row uploads from 32 clients, request to durable receipt",
		usual: true,
		rounds: 3,
		yardstick: "32 clients",
		prepare: async () => [
			manyUploads(32, 3_000, "32 clients"),
			manyUploads(32, 1_000, "32 clients, a transaction each", { DUCKDOCK_SHARE: "off" }),
			manyUploads(1, 300, "1 client"),
		],
	},
	{
		name: "memory",
		describe: "peak memory of an upload in parts, 1 GB and 10 GB, DuckDB's own limit 512 MB",
		usual: false,
		rounds: 1,
		yardstick: "1 GB",
		async prepare() {
			const limits = { DUCKDOCK_MEMORY_LIMIT: "512MB" };
			return [
				httpParts(await lineitemShaped(6_000_000, 50_000), "1 GB", limits),
				httpParts(await lineitemShaped(60_000_000, 50_000), "10 GB", limits),
			];
		},
	},
	{
		name: "shapes",
		describe:
			"1 M rows of wide strings, nested lists, dictionaries; strings with LZ4 and ZSTD bodies",
		usual: false,
		rounds: 3,
		yardstick: "strings",
		async prepare(python) {
			if (python === null)
				throw new Error("this workload's files are written by pyarrow, which is not here");
			const cases: BenchCase[] = [];
			for (const name of ["strings", "lists", "dictionaries", "lz4", "zstd"]) {
				const data = await shape(name, 1_000_000, python);
				cases.push(load(data, name), pythonInProcess(python, data, `${name}, Python`));
			}
			return cases;
		},
	},
];
