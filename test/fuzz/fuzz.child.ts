/**
 * Runs inputs `from` to `to` of a seed, one after the other, in a process that may
 * die of one. Before each it writes the input's number into a file, so that its
 * parent knows which; what came of each it sends in lots.
 *
 *   node fuzz.child.ts SEED FROM TO PROGRESS_FILE
 */

import { openSync, writeSync } from "node:fs";
import process from "node:process";
import { DuckDBInstance } from "@duckdb/node-api";
import { nodeCodecs } from "../../src/replay/node-codecs.ts";
import { readCorpus } from "./corpus.ts";
import { makeInput } from "./make-input.ts";
import { type FuzzResult, runInput } from "./run-input.ts";

export interface FuzzLot {
	results: { index: number; origin: string; milliseconds: number; result: FuzzResult }[];
	/** Of this process so far. */
	maxResidentBytes: number;
	done: boolean;
}

// Whoever reads memory that was given back finds this, and the values are others.
nodeCodecs.pool = { fromBytes: 1, reclaimed: (bytes) => void bytes.fill(0xdb) };

const [seed, from, to] = process.argv.slice(2, 5).map(Number) as [number, number, number];
const progress = openSync(process.argv[5]!, "w");
const corpus = process.argv[6] === "grammar-only" ? readCorpus(false) : readCorpus();
const instance = await DuckDBInstance.create(":memory:", { threads: "1", memory_limit: "1GB" });
const connection = await instance.connect();
// A parent that was stopped must not leave its children at work.
process.on("disconnect", () => process.exit(1));
const lotSize = 100;
let results: FuzzLot["results"] = [];

const send = (done: boolean) =>
	new Promise<void>((resolve) => {
		const maxResidentBytes = process.resourceUsage().maxRSS * 1024;
		process.send!({ results, maxResidentBytes, done } satisfies FuzzLot, () => resolve());
		results = [];
	});

for (let index = from; index < to; index++) {
	writeSync(progress, String(index).padEnd(16), 0);
	const input = makeInput(seed, index, corpus);
	const begun = performance.now();
	const result = await runInput(input, connection);
	results.push({ index, origin: input.origin, milliseconds: performance.now() - begun, result });
	if (results.length === lotSize) await send(false);
}
await send(true);
process.exit(0);
