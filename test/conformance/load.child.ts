/**
 * Loads files that its parent names, all into one database, and says of each what
 * became of it. A process of its own, because an input that kills it must not kill
 * the tests. Before each file it says which one it is at.
 */

import { readFileSync } from "node:fs";
import process from "node:process";
import { IngestError } from "../../src/errors.ts";
import type { Receipt } from "../../src/flow.ts";
import { nodeCodecs } from "../../src/replay/node-codecs.ts";
import { compare, type LoadedTable } from "./compare.ts";
import { type FileOutcome, failedOutcome } from "./file-outcome.ts";
import { type FixtureRow, fixturePath } from "./fixtures.ts";
import { bytesSource, Loader } from "./load-bytes.ts";
import { readTable } from "./read-table.ts";

type Loaded = Receipt | IngestError | Error;

// Whoever reads memory that was given back finds this, and the values are others.
nodeCodecs.pool = { fromBytes: 1, reclaimed: (bytes) => void bytes.fill(0xdb) };

/** A prime, so that messages are cut everywhere. */
const chunkBytes = 997;

// A parent that was stopped must not leave its children at work.
process.on("disconnect", () => process.exit(1));

process.on("message", async (rows: FixtureRow[]) => {
	const loader = new Loader();
	const loaded: { atRest: Loaded; passing: Loaded }[] = [];
	for (const [at, row] of rows.entries()) {
		process.send!({ at });
		const bytes = new Uint8Array(readFileSync(fixturePath(row)));
		loaded.push({
			atRest: await attempt(loader, bytes, `rest${at}`, true),
			passing: await attempt(loader, bytes, `passing${at}`, false),
		});
	}
	const outcomes: FileOutcome[] = [];
	for (const [at, row] of rows.entries()) {
		process.send!({ at });
		outcomes.push(await judge(loader, row, at, loaded[at]!.atRest, loaded[at]!.passing));
	}
	await loader.remove();
	process.send!({ outcomes });
});

async function judge(
	loader: Loader,
	row: FixtureRow,
	at: number,
	atRest: Loaded,
	passing: Loaded,
): Promise<FileOutcome> {
	if (atRest instanceof Error) {
		const code = atRest instanceof IngestError ? atRest.code : "threw";
		const streamed = passing instanceof IngestError ? passing.code : "loads";
		return { ...failedOutcome(code, atRest.message), streamed };
	}
	try {
		const table = await readTable(loader, `rest${at}`);
		return {
			code: "ok",
			detail: "",
			rows: atRest.rows_inserted,
			types: table.types,
			warnings: atRest.warnings,
			...compare(row, atRest, table),
			streamed: await sameWhenPassing(loader, at, passing, table),
		};
	} catch (error) {
		return failedOutcome("threw", error instanceof Error ? (error.stack ?? "") : String(error));
	}
}

async function sameWhenPassing(
	loader: Loader,
	at: number,
	passing: Loaded,
	table: LoadedTable,
): Promise<string> {
	if (passing instanceof Error) return passing.message;
	const other = await readTable(loader, `passing${at}`);
	const isSame =
		JSON.stringify(other.columns) === JSON.stringify(table.columns) &&
		other.types.join() === table.types.join();
	return isSame ? "same" : "other values";
}

async function attempt(
	loader: Loader,
	bytes: Uint8Array,
	table: string,
	atRest: boolean,
): Promise<Loaded> {
	try {
		const source = bytesSource(bytes, { atRest, chunkBytes: atRest ? 65_536 : chunkBytes });
		return await loader.load([source], table, AbortSignal.timeout(60_000));
	} catch (error) {
		return error instanceof Error ? error : new Error(String(error));
	}
}
