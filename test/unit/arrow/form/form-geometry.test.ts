import { describe, expect, it } from "vitest";
import { planEngineForm } from "../../../../src/arrow/engine-form.ts";
import type { Field } from "../../../../src/arrow/types.ts";
import { arrayOf, extension, field, int, plainCodecs } from "../support/arrays.ts";
import { readBinary, wktOf } from "../support/geo-arrays.ts";

const double = field("xy", { kind: "float", bits: 64 });
const pair = field("item", { kind: "fixed_size_list", size: 2 }, { children: [double] });
const ends = field("run_ends", int(32), { nullable: false });

const convert = (of: Field, values: unknown[]) => {
	const form = planEngineForm({ fields: [of], metadata: new Map() }, plainCodecs);
	const raw = { length: values.length, columns: [arrayOf(of, values)], index: 0 };
	const [column] = form.convert(raw).columns;
	const cells = readBinary(column!, form.fields[0]!.type.kind as "large_binary");
	return cells.map((wkb) => wkb && wktOf(wkb));
};

describe("geometry in storage that its encoding doesn't have", () => {
	const lines = [
		[
			[1, 2],
			[3, 4],
		],
		null,
		[],
		[[5, 6]],
	];
	const texts = ["LINESTRING (1 2, 3 4)", null, "LINESTRING EMPTY", "LINESTRING (5 6)"];

	it.each(["list", "list_view", "large_list_view"] as const)("a linestring of %s", (kind) => {
		const line = field(
			"g",
			{ kind },
			{ children: [pair], metadata: extension("geoarrow.linestring") },
		);
		expect(convert(line, lines)).toEqual(texts);
	});

	it("a polygon of list views in a list", () => {
		const ring = field("ring", { kind: "list_view" }, { children: [pair] });
		const polygon = field(
			"g",
			{ kind: "list" },
			{
				children: [ring],
				metadata: extension("geoarrow.polygon"),
			},
		);
		expect(
			convert(polygon, [
				[
					[
						[1, 2],
						[3, 4],
					],
					[],
				],
				null,
			]),
		).toEqual(["POLYGON ((1 2, 3 4), EMPTY)", null]);
	});

	it("WKT in run ends", () => {
		const runs = field(
			"g",
			{ kind: "run_end_encoded" },
			{
				children: [ends, field("values", { kind: "utf8" })],
				metadata: extension("geoarrow.wkt"),
			},
		);
		const form = planEngineForm({ fields: [runs], metadata: new Map() }, plainCodecs);
		expect(form.fields[0]!.type.kind).toBe("binary_view");
		const raw = {
			length: 3,
			columns: [arrayOf(runs, ["POINT (1 2)", "POINT (1 2)", null])],
			index: 0,
		};
		const [column] = form.convert(raw).columns;
		expect(column!.nullCount).toBe(1);
	});
});
