import { describe, expect, test } from "vitest";
import { lockStatements } from "../../../../src/insert/duckdb/lockdown.ts";
import {
	attachStatement,
	tenantTarget,
	throwawayTarget,
} from "../../../../src/insert/duckdb/targets.ts";
import { parseTarget } from "../../../../src/target-template.ts";

const targetOf = (template: string, tenant = "acme") => tenantTarget(parseTarget(template), tenant);

describe("targets", () => {
	test("a file is attached for writing under an alias, its path quoted, a new one with a storage version that keeps CRSs", () => {
		const target = targetOf("/srv/it's/{tenant}.duckdb");
		expect([target.filePath, target.catalog]).toEqual(["/srv/it's/acme.duckdb", "target"]);
		expect(attachStatement(target)).toBe(
			`ATTACH '/srv/it''s/acme.duckdb' AS "target" (TYPE duckdb, READ_WRITE, STORAGE_VERSION 'v1.5.0')`,
		);
	});

	test.each([
		["md:{tenant}", "acme", "md:acme?attach_mode=single"],
		["motherduck:{tenant}", "acme", "md:acme?attach_mode=single"],
		[
			"md:dock_{tenant}?session_name=x",
			"dock_acme",
			"md:dock_acme?session_name=x&attach_mode=single",
		],
		["md:{tenant}?attach_mode=workspace", "acme", "md:acme?attach_mode=workspace"],
	])(
		"%s keeps the database's name, which MotherDuck lets nobody change, and attaches it alone",
		(template, catalog, location) => {
			const target = targetOf(template);
			expect([target.catalog, target.location, target.filePath]).toEqual([catalog, location, null]);
			expect(attachStatement(target)).toBe(`ATTACH '${location}'`);
		},
	);

	test("a lake has no keys, and its catalog is a file that one process may hold", () => {
		const target = targetOf("ducklake:/srv/{tenant}.ducklake");
		expect(target.can.primaryKeys).toBe(false);
		expect(target.filePath).toBe("/srv/acme.ducklake");
		expect(attachStatement(target)).toBe(`ATTACH 'ducklake:/srv/acme.ducklake' AS "target"`);
		expect(targetOf("ducklake:postgres:dbname={tenant}").filePath).toBeNull();
	});

	test("what is no tenant becomes no statement", () => {
		for (const tenant of ["../x", "a' AS x; --", "A", "", "a.b"]) {
			expect(() => targetOf("/srv/{tenant}.duckdb", tenant)).toThrow(/tenant/);
		}
	});

	test("a dry run's empty database is in memory and locked down as a file is", () => {
		const empty = throwawayTarget(targetOf("md:{tenant}"));
		expect(attachStatement(empty)).toBe(`ATTACH ':memory:' AS "target"`);
		expect(lockStatements(empty, {}, null)).toContain("SET GLOBAL enable_external_access = false");
	});
});

describe("the lock-down", () => {
	test("ends with the lock, and closes what lies outside before it", () => {
		const file = lockStatements(
			targetOf("/srv/{tenant}.duckdb"),
			{ memoryLimit: "1'GB", threads: 2 },
			null,
		);
		expect(file.slice(-2)).toEqual([
			"SET GLOBAL enable_external_access = false",
			"SET GLOBAL lock_configuration = true",
		]);
		expect(file).toContain("SET GLOBAL memory_limit = '1''GB'");
		expect(file.filter((statement) => statement.includes("allowed"))).toEqual([
			"SET GLOBAL allowed_configs = ['threads']",
		]);
	});

	test("opens a lake its own catalog and data folder and no more; what needs the network keeps it", () => {
		const lake = targetOf("ducklake:/srv/{tenant}.ducklake");
		const local = lockStatements(lake, {}, "/srv/acme.ducklake.files/");
		expect(local).toContain("SET GLOBAL allowed_directories = ['/srv/acme.ducklake.files/']");
		expect(local).toContain("SET GLOBAL enable_external_access = false");
		for (const remote of [
			lockStatements(lake, {}, null),
			lockStatements(targetOf("md:{tenant}"), {}, null),
		]) {
			expect(remote).not.toContain("SET GLOBAL enable_external_access = false");
			expect(remote.at(-1)).toBe("SET GLOBAL lock_configuration = true");
		}
	});
});
