/** Every layout, pinned and copied, and every way a load can end, in one process: what memory checkers watch. */
import assert from "node:assert/strict";
import { RecordBatchStream } from "../../index.js";
import { kinds } from "../kinds.ts";
import { collectGarbage, connect, open, rowsOf } from "./shared.ts";

const connection = await connect();
let views = 0;
for (const copy of [false, true]) {
	for (const kind of Object.values(kinds)) {
		views += 1;
		const stream = new RecordBatchStream(kind.fields, { copy });
		stream.scan(connection, `kind_${views}`);
		const read = connection.runAndReadAll(`SELECT * FROM kind_${views}`);
		for (const each of kind.batches) await stream.push(each);
		stream.end();
		assert.deepEqual((await read).getRowsJson(), kind.rows);
		await connection.run(`DROP VIEW kind_${views}`);
		stream.close();
	}
	for (const way of ["end", "fail", "close", "refused", "constraint"] as const) {
		views += 1;
		await connection.run("CREATE OR REPLACE TABLE checked (i BIGINT CHECK (i < 30000), s VARCHAR)");
		const stream = open(connection, `way_${views}`, { copy, capacityBatches: 2 });
		const inserted = connection
			.run(`INSERT INTO ${way === "constraint" ? "checked" : "target"} SELECT * FROM way_${views}`)
			.then(
				(result) => result.rowsChanged,
				() => "failed",
			)
			.finally(() => stream.close());
		for (let i = 0; i < 8; i++) {
			if (!(await stream.push(rowsOf(5000, i * 5000)))) break;
		}
		if (way === "refused")
			assert.throws(() => stream.push({ length: 1, columns: [] }), /fewer columns/);
		if (way === "end" || way === "refused") stream.end();
		else if (way === "fail") stream.fail("on purpose");
		else if (way === "close") stream.close();
		else if (stream.isOpen) stream.end();
		assert.equal(await inserted, way === "end" || way === "refused" ? 40_000 : "failed");
		await connection.run(`DROP VIEW way_${views}`);
	}
	await collectGarbage();
}
console.log("fine");
