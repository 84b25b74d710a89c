/** Geometry of every spelling, in new tables and in tables that are there, with its CRS or a warning. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Field } from "../../src/arrow/types.ts";
import type { IngestError } from "../../src/errors.ts";
import type { LoadMode } from "../../src/flow.ts";
import { makeArray, makeField } from "../unit/arrow/support/geo-arrays.ts";
import { writeStream } from "../unit/arrow/support/write-ipc.ts";
import { bytesSource, Loader } from "./load-bytes.ts";

const double = (name: string) => makeField({ kind: "float", bits: 64 }, [], name);
const wkb = Uint8Array.from([1, 1, 0, 0, 0, ...new Uint8Array(new Float64Array([1, 2]).buffer)]);
const crs84 = '{"crs":"OGC:CRS84"}';
const crs83 = '{"crs":"OGC:CRS83"}';

/** One point, spelled in every way there is; `crs` is the extension's metadata. */
const spellings: [string, (crs: string) => [Field, unknown]][] = [
	["wkb", (crs) => [makeField({ kind: "binary" }, [], "g", "geoarrow.wkb", crs), wkb]],
	["wkb of views", (crs) => [makeField({ kind: "binary_view" }, [], "g", "ogc.wkb", crs), wkb]],
	[
		"wkt",
		(crs) => [makeField({ kind: "large_utf8" }, [], "g", "geoarrow.wkt", crs), "POINT (1 2)"],
	],
	[
		"separated point",
		(crs) => [
			makeField({ kind: "struct" }, [double("x"), double("y")], "g", "geoarrow.point", crs),
			[1, 2],
		],
	],
	[
		"interleaved point",
		(crs) => [
			makeField({ kind: "fixed_size_list", size: 2 }, [double("xy")], "g", "geoarrow.point", crs),
			[1, 2],
		],
	],
];

const streamOf = (spelling: (crs: string) => [Field, unknown], crs: string) => {
	const [field, value] = spelling(crs);
	return bytesSource(writeStream([field], [[makeArray(field, [value, null])]]));
};

let loader: Loader;
beforeAll(() => {
	loader = new Loader();
});
afterAll(() => loader.remove());

const load = (
	spelling: (crs: string) => [Field, unknown],
	crs: string,
	table: string,
	mode: LoadMode,
) => loader.load([streamOf(spelling, crs)], table, AbortSignal.timeout(30_000), mode);

const contents = async (table: string) => {
	const connection = await loader.reader();
	const result = await connection.run(
		`SELECT typeof(g), ST_AsText(g) FROM main."${table}" ORDER BY ALL`,
	);
	return await result.getRows();
};

describe.each(spellings)("geometry as %s", (name, spelling) => {
	const kept = "GEOMETRY('OGC:CRS84')";

	it("lands in create, append and replace, its CRS in the type", async () => {
		for (const mode of ["create", "append", "replace", "create_append"] as const) {
			const receipt = await load(spelling, crs84, name, mode);
			expect(receipt.columns).toEqual([expect.objectContaining({ duckdb_type: kept })]);
			expect(receipt.warnings).toEqual([]);
		}
		expect(await contents(name)).toEqual([
			[kept, "POINT (1 2)"],
			[kept, "POINT (1 2)"],
			[kept, null],
			[kept, null],
		]);
	});

	it("names a CRS that DuckDB does not know", async () => {
		const receipt = await load(spelling, '{"crs":"EPSG:32618"}', `${name} utm`, "create");
		expect(receipt.warnings).toEqual([
			{ code: "crs_dropped", column: "g", detail: expect.stringContaining("EPSG:32618") },
		]);
		expect(await contents(`${name} utm`)).toContainEqual(["GEOMETRY", "POINT (1 2)"]);
	});

	it("names a CRS that the table has no place for, and is refused by one of another", async () => {
		await load(spelling, "{}", `${name} plain`, "create");
		const receipt = await load(spelling, crs84, `${name} plain`, "append");
		expect(receipt.warnings).toEqual([expect.objectContaining({ code: "crs_dropped" })]);
		expect(await contents(`${name} plain`)).toHaveLength(4);
		const refusal = (await load(spelling, crs83, name, "append").catch(
			(error) => error,
		)) as IngestError;
		expect(refusal.code).toBe("schema_mismatch");
		expect(await contents(name)).toHaveLength(4);
	});
});
