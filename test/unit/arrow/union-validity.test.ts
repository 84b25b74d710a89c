/** Unions of metadata V4, from bytes to DuckDB. */

import { expect, it } from "vitest";
import { openArrow } from "../../../src/arrow/open-arrow.ts";
import type { CheckedBatch } from "../../../src/arrow/types.ts";
import { defaultLimits } from "../../../src/limits.ts";
import { nodeCodecs } from "../../../src/replay/node-codecs.ts";
import { arrayOf, bitmap, field, int } from "./support/arrays.ts";
import { throughDuckDB } from "./support/duckdb.ts";
import { sourceOf } from "./support/read-ipc.ts";
import { writeStream } from "./support/write-ipc.ts";

const children = [field("n", int(32)), field("s", { kind: "utf8" })];

it.each(["sparse", "dense"] as const)(
	"%s unions with a bitmap of their own land with its nulls",
	async (mode) => {
		const of = field("u", { kind: "union", mode, typeIds: [0, 1] }, { children });
		const array = arrayOf(of, [
			{ member: 0, value: 1 },
			{ member: 1, value: "x" },
			{ member: 0, value: 2 },
		]);
		array.buffers.unshift(bitmap([true, false, true]));
		array.nullCount = 1;
		const signal = new AbortController().signal;
		const reader = await openArrow([sourceOf(writeStream([of], [[array]], { version: 3 }))], {
			codecs: nodeCodecs,
			limits: defaultLimits,
			requireEos: false,
			signal,
		});
		const batches: CheckedBatch[] = [];
		for await (const batch of reader.batches(signal)) batches.push(batch);
		const { rows, types } = await throughDuckDB(reader.engineFields, batches);
		expect(types).toEqual(["UNION(n INTEGER, s VARCHAR)"]);
		expect(rows).toEqual([["1"], [null], ["2"]]);
	},
);
