import { DuckDBInstance } from "@duckdb/node-api";
import { expect, test } from "vitest";
import { RecordBatchStream } from "../index.js";
import { array, batch, dictionary, field, int32s, utf8s } from "./arrays.ts";

// DuckDB keeps a decoded dictionary per thread and compares the address of its struct to see whether it is
// the same one: a batch freed too early, and another one at its address, would show old words.
test.each([
	["pinned", false],
	["copied", true],
])(
	"each batch's own dictionary is read, in columns, lists and structs, over thousands of batches (%s)",
	async (_how, copy) => {
		const instance = await DuckDBInstance.create(":memory:", { threads: "4" });
		const connection = await instance.connect();
		const words = (name: string) => field(name, "c", { dictionary: field("", "u") });
		const stream = new RecordBatchStream(
			[
				field("n", "i"),
				words("word"),
				field("list", "+l", { children: [words("item")] }),
				field("struct", "+s", { children: [words("inside")] }),
			],
			{ copy },
		);
		stream.scan(connection, "incoming");
		await connection.run(
			'CREATE TABLE target (n INTEGER, word VARCHAR, list VARCHAR[], struct STRUCT("inside" VARCHAR))',
		);
		const inserted = connection
			.run("INSERT INTO target SELECT * FROM incoming")
			.finally(() => stream.close());
		const batches = 3000;
		for (let n = 0; n < batches; n++) {
			const values = utf8s([`first word of batch ${n}`, `second word of batch ${n}`]);
			const column = dictionary([1, 0], values);
			const list = array(2, [null, Int32Array.of(0, 1, 2)], { children: [column] });
			const struct = array(2, [null], { children: [column] });
			await stream.push(batch(int32s([n, n]), column, list, struct));
		}
		stream.end();
		expect((await inserted).rowsChanged).toBe(2 * batches);
		const wrong = await connection.runAndReadAll(`
		SELECT count(*)::INTEGER FROM (SELECT *, row_number() OVER () % 2 AS odd FROM target)
		WHERE word <> (CASE odd WHEN 1 THEN 'second' ELSE 'first' END) || ' word of batch ' || n
			OR list <> [word] OR struct.inside <> word OR word IS NULL`);
		expect(wrong.getRows()).toEqual([[0]]);
		connection.closeSync();
		instance.closeSync();
	},
);
