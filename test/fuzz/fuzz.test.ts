/**
 * A few thousand inputs of the fuzzer, and every find of the past. A long run:
 * `npm run fuzz -- --count 200000 --seed 1`; the recorded one is in RECORD.md.
 */

import { readdirSync, readFileSync } from "node:fs";
import { DuckDBInstance } from "@duckdb/node-api";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readCorpus } from "./corpus.ts";
import { describeReport, type FuzzReport, fuzz } from "./fuzz.ts";
import { type FuzzInput, makeInput } from "./make-input.ts";
import { runInput } from "./run-input.ts";

describe("3,000 inputs of one seed", () => {
	const options = { count: 3_000, seed: 20_261_130, processes: 2 };
	let report: FuzzReport;
	beforeAll(async () => {
		const begun = Date.now();
		report = await fuzz(options);
		console.log(describeReport(report, options, (Date.now() - begun) / 1000));
	}, 600_000);

	it("are rows or an IngestError: no death, no hang, no fault of ours, no other value", () => {
		expect(report.finds).toEqual([]);
		expect(report.count).toBe(options.count);
	});

	it("get far: 30 % past the schema, 10 % past the first batch, some compared by cell", () => {
		expect(report.pastSchema / report.count).toBeGreaterThan(0.3);
		expect(report.pastFirstBatch / report.count).toBeGreaterThan(0.1);
		expect(report.compared / report.count).toBeGreaterThan(0.1);
	});

	it("end in rows and in many different refusals", () => {
		expect(report.outcomes.rows).toBeGreaterThan(options.count / 20);
		expect(report.outcomes.invalid_arrow).toBeGreaterThan(options.count / 20);
		expect(Object.keys(report.outcomes).length).toBeGreaterThan(5);
	});
});

it("an input is made again from its seed and number", () => {
	const corpus = readCorpus(false);
	const [a, b] = [makeInput(7, 42, corpus), makeInput(7, 42, readCorpus(false))];
	expect(b).toEqual(a);
	expect(makeInput(8, 42, corpus)).not.toEqual(a);
});

describe("inputs that were finds", () => {
	const folder = new URL("regressions", import.meta.url).pathname;
	let instance: DuckDBInstance;
	beforeAll(async () => {
		instance = await DuckDBInstance.create(":memory:");
	});
	afterAll(() => instance.closeSync());

	it.each(readdirSync(folder).filter((name) => name.endsWith(".arrow")))(
		"%s is none any more",
		async (name) => {
			const connection = await instance.connect();
			const bytes = new Uint8Array(readFileSync(`${folder}/${name}`));
			for (const chunks of [null, [997]]) {
				const input: FuzzInput = { bytes, origin: name, chunks, otherChunks: [7] };
				expect((await runInput(input, connection)).find).toBeNull();
			}
			connection.closeSync();
		},
	);
});
