/**
 * `npm run fuzz -- --count N --seed S [--from I] [--processes P] [--show INDEX FILE]`: a long
 * run of the fuzzer; with `--show` the bytes of one input go into a file.
 */

import { writeFileSync } from "node:fs";
import process from "node:process";
import { parseArgs } from "node:util";
import { readCorpus } from "./corpus.ts";
import { describeReport, type Find, fuzz } from "./fuzz.ts";
import { makeInput } from "./make-input.ts";

const { values, positionals } = parseArgs({
	options: {
		from: { type: "string", default: "0" },
		count: { type: "string", default: "10000" },
		seed: { type: "string", default: "1" },
		processes: { type: "string", default: "2" },
		show: { type: "string" },
	},
	allowPositionals: true,
});
const seed = Number(values.seed);

if (values.show !== undefined) {
	const input = makeInput(seed, Number(values.show), readCorpus());
	const file = positionals[0] ?? "input.arrow";
	writeFileSync(file, input.bytes);
	console.log(`${file}: ${input.bytes.length} bytes, ${input.origin}, chunks ${input.chunks}`);
} else {
	let told = 0;
	const options = {
		from: Number(values.from),
		count: Number(values.count),
		seed,
		processes: Number(values.processes),
		onProgress: (done: number, finds: Find[]) => {
			if (done % 5_000 < 100) console.error(`${new Date().toISOString()} ${done} inputs`);
			for (; told < finds.length; told++) console.error(finds[told]);
		},
	};
	const begun = Date.now();
	const report = await fuzz(options);
	console.log(describeReport(report, options, (Date.now() - begun) / 1000));
	process.exitCode = report.finds.length === 0 ? 0 : 1;
}
