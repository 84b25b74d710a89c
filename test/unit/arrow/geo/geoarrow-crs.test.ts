import { describe, expect, it } from "vitest";
import { engineCrs } from "../../../../src/arrow/geo/geoarrow-crs.ts";

const projjson = {
	type: "GeographicCRS",
	name: "WGS 84",
	id: { authority: "EPSG", code: 4326 },
};
const wkt2 = 'GEOGCRS["WGS 84",CS[ellipsoidal,2],AXIS["lat",north,ORDER[1]],ID["EPSG",4326]]';
const wkt1 =
	'GEOGCS["NAD27",UNIT["degree",0.01,AUTHORITY["EPSG","9122"]],AUTHORITY["EPSG","4267"]]';

describe("a CRS", () => {
	it.each([[null], [undefined], [""], ["  "]])("%j is none", (crs) => {
		expect(engineCrs(crs)).toBeNull();
	});

	it.each([
		["OGC:CRS84", "OGC:CRS84"],
		["ogc:crs84", "OGC:CRS84"],
		["urn:ogc:def:crs:OGC:1.3:CRS84", "OGC:CRS84"],
		["http://www.opengis.net/def/crs/OGC/1.3/CRS84", "OGC:CRS84"],
		["OGC:CRS83", "OGC:CRS83"],
		[projjson, projjson],
		[JSON.stringify(projjson), projjson],
		[wkt2, wkt2],
		[` ${wkt2}\n`, wkt2],
		['ProjCRS("a ""b""",ID["X",1])', 'ProjCRS("a ""b""",ID["X",1])'],
	])("%j is kept in the type", (crs, kept) => {
		expect(engineCrs(crs)?.kept).toEqual(kept);
	});

	it.each([
		["EPSG:4326", "EPSG:4326"],
		["OGC:CRS27", "OGC:CRS27"],
		[4326, "4326"],
		[wkt1, "NAD27 (EPSG:4267)"],
		["+proj=longlat", "+proj=longlat"],
		[{ ...projjson, type: "BoundCRS" }, "WGS 84 (EPSG:4326)"],
		[{ name: "x" }, "x"],
		['PROJCRS["x"', "x"],
		['PROJCRS["x"] and more', "x"],
		['PROJCRS["x",1 2]', "x"],
		["PROJCRS[1]", "PROJCRS[1]"],
		['PROJCRS["x",]', "x"],
		['PROJCRS["x",+1]', "x"],
		['PROJCRS["x",A["y")]', "x"],
		['{"type":"GeographicCRS"', '{"type":"GeographicCRS"'],
		[`GEOGCRS["x",${'A["y",'.repeat(40)}1${"]".repeat(41)}`, "x"],
	])("%j is dropped and named", (crs, label) => {
		expect(engineCrs(crs)).toEqual({ kept: null, label });
	});
});
