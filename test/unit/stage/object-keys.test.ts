import { describe, expect, it } from "vitest";
import * as keys from "../../../src/stage/object-keys.ts";

const id = "01JDXM2Q6V8Z3T4R5W6Y7A8B9C";
const later = "01JDXM2Q6V8Z3T4R5W6Y7A8B9D";

describe("keys of the object layout", () => {
	it("are those of the contract", async () => {
		expect(keys.uploadKey("acme", id)).toBe(`uploads/acme/${id}/upload.json`);
		expect(keys.partKey("acme", id, keys.partName(1))).toBe(`uploads/acme/${id}/parts/00001`);
		expect(keys.manifestKey("acme", id)).toBe(`uploads/acme/${id}/manifest.json`);
		expect(keys.receiptKey("acme", id)).toBe(`loads/acme/${id}.json`);
		expect(keys.leaseKey("acme", id, 2)).toBe(`uploads/acme/${id}/lease/000002`);
		expect(await keys.idempotencyKey("acme", "order 7")).toMatch(
			/^idempotency\/acme\/[0-9a-f]{64}\.json$/,
		);
		expect(await keys.tableKey("acme", { schema: "Raw", table: "a/b %é" })).toBe(
			"tables/acme/raw/a%2Fb%20%25%C3%A9.json",
		);
	});

	it.each(["", "Acme", "../evil", "a/b", "a%2fb", "ａcme", "-a", "a".repeat(64)])(
		"refuse the tenant %j",
		(tenant) => {
			expect(() => keys.uploadKey(tenant, id)).toThrow(
				expect.objectContaining({ code: "bad_request" }),
			);
			expect(keys.parseUploadKey(`uploads/${tenant}/${id}/manifest.json`)).toBeNull();
		},
	);

	it.each(["", "..", "../x", id.toLowerCase(), `${id}0`, `8${id.slice(1)}`, `${id.slice(1)}U`])(
		"refuse the id %j as one that is not there",
		(bad) => {
			expect(() => keys.uploadKey("acme", bad)).toThrow(
				expect.objectContaining({ code: "upload_not_found" }),
			);
			expect(keys.parseUploadKey(`uploads/acme/${bad}/manifest.json`)).toBeNull();
		},
	);

	it("of names that are all dots or too long stay inside their folder and under 1,024 bytes", async () => {
		const table = "é".repeat(127);
		const one = await keys.tableKey("acme", { schema: "..", table });
		expect(one).toMatch(/^tables\/acme\/%2E%2E\/[^/]+\.json$/);
		expect(one.length).toBeLessThan(1024);
		const other = await keys.tableKey("acme", { schema: "..", table: `${table.slice(1)}e` });
		expect(other).not.toBe(one);
	});

	it("of an index list the newest first and give their id back", () => {
		const [a, b] = [keys.indexKey("acme", id), keys.indexKey("acme", later)];
		expect(b < a).toBe(true);
		expect(keys.idOfIndexKey(a)).toBe(id);
		expect(keys.idOfIndexKey("index/acme/what")).toBeNull();
	});

	it("of parts sent again come after the first and in the order of their generation", () => {
		const names = [
			keys.partName(1),
			keys.repeatedPartName(1, 1, id),
			keys.repeatedPartName(1, 2, id),
			keys.repeatedPartName(1, 10, id),
			keys.partName(2),
		];
		expect([...names].sort()).toEqual(names);
		expect(names.map((name) => keys.parsePartName(name)?.n)).toEqual([1, 1, 1, 1, 2]);
		expect(keys.parsePartName("00001.tmp")).toBeNull();
	});
});
