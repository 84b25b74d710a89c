/**
 * What one push costs on the JS thread, by columns, pinned and copied: microseconds per batch and
 * nanoseconds per column, no DuckDB at work. Run: node native/bench/push-cost.ts
 */
import { RecordBatchStream } from "../index.js";
import { array, batch, field } from "../test/arrays.ts";

console.log("columns  buffers in      how     µs/batch  ns/column");
for (const columns of [1, 16, 100, 1000, 10_000]) {
	const fields = Array.from({ length: columns }, (_, i) => field(`c${i}`, "l"));
	for (const own of [false, true]) {
		const rows = 128;
		const body = new ArrayBuffer(rows * 8 * columns);
		const each = batch(
			...Array.from({ length: columns }, (_, i) =>
				array(rows, [
					null,
					own ? new BigInt64Array(rows) : new BigInt64Array(body, i * rows * 8, rows),
				]),
			),
		);
		for (const copy of [false, true]) {
			const batches = Math.max(20, Math.round(200_000 / columns));
			const times: number[] = [];
			for (let round = 0; round < 5; round++) {
				const stream = new RecordBatchStream(fields, {
					copy,
					capacityBatches: 1e9,
					capacityBytes: 1e15,
				});
				const started = performance.now();
				for (let i = 0; i < Math.min(batches, 2000); i++) stream.push(each);
				times.push(((performance.now() - started) * 1000) / Math.min(batches, 2000));
				stream.close();
			}
			times.sort((a, b) => a - b);
			const micros = times[2] as number;
			console.log(
				`${String(columns).padStart(7)}  ${(own ? "own each" : "one body").padEnd(14)}  ${copy ? "copy" : "pin "}  ${micros.toFixed(1).padStart(9)}  ${((micros * 1000) / columns).toFixed(0).padStart(8)}`,
			);
		}
	}
}
