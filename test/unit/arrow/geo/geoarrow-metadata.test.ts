import { describe, expect, it } from "vitest";
import {
	extensionName,
	geoMetadata,
	withGeoMetadata,
} from "../../../../src/arrow/geo/geoarrow-metadata.ts";
import type { Field, Schema } from "../../../../src/arrow/types.ts";
import { makeField } from "../support/geo-arrays.ts";

const schemaOf = (geo: unknown, ...fields: Field[]): Schema => ({
	fields,
	metadata: new Map([["geo", new TextEncoder().encode(JSON.stringify(geo))]]),
});
const first = (schema: Schema) => withGeoMetadata(schema).fields[0]!;

describe("the schema's geo metadata", () => {
	it("makes a plain binary column of GeoParquet a geometry in OGC:CRS84", () => {
		const geo = { version: "1.0.0", columns: { g: { encoding: "WKB" } } };
		const field = first(schemaOf(geo, makeField({ kind: "binary" })));
		expect(extensionName(field)).toBe("geoarrow.wkb");
		expect(geoMetadata(field).crs).toBe("OGC:CRS84");
	});

	it("hands CRS and edges to a geometry without its own, and no others", () => {
		const geo = { columns: { g: { encoding: "WKB", crs: "EPSG:1", edges: "spherical" } } };
		const bare = first(schemaOf(geo, makeField({ kind: "binary" }, [], "g", "WKB")));
		expect(geoMetadata(bare)).toEqual({ crs: "EPSG:1", edges: "spherical", unreadable: false });
		const own = makeField({ kind: "binary" }, [], "g", "geoarrow.wkb", '{"crs":"EPSG:2"}');
		expect(geoMetadata(first(schemaOf(geo, own))).crs).toBe("EPSG:2");
	});

	it("an unknown CRS stays unknown", () => {
		const geo = { version: "1.1.0", columns: { g: { encoding: "WKB", crs: null } } };
		expect(geoMetadata(first(schemaOf(geo, makeField({ kind: "binary" })))).crs).toBeNull();
	});

	it("changes no column of another storage, name or extension", () => {
		const geo = { version: "1.0.0", columns: { g: { encoding: "WKB" }, h: { encoding: "point" } } };
		for (const field of [
			makeField({ kind: "utf8" }),
			makeField({ kind: "binary" }, [], "other"),
			makeField({ kind: "binary" }, [], "h"),
			makeField({ kind: "fixed_size_binary", byteWidth: 16 }, [], "g", "arrow.uuid"),
			makeField({ kind: "binary" }, [], "__proto__"),
		]) {
			expect(first(schemaOf(geo, field))).toBe(field);
		}
	});

	it("is ignored when it is not what it should be", () => {
		const field = makeField({ kind: "binary" });
		for (const geo of ["x", 1, [], null, {}, { columns: [] }, { columns: { g: 1 } }]) {
			expect(first(schemaOf(geo, field))).toBe(field);
		}
		const broken = { fields: [field], metadata: new Map([["geo", new Uint8Array([0xff, 0x7b])]]) };
		expect(withGeoMetadata(broken).fields[0]).toBe(field);
	});
});
