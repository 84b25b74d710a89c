import { basename, dirname } from "node:path";
import { describe, expect, it } from "vitest";
import {
	driverFolders,
	engineFreeFolders,
	exceptions,
	importTable,
	isEngine,
	runtimeFreeFolders,
} from "./import-table.ts";
import {
	cycles,
	importSpecifiers,
	missingTargets,
	reach,
	readSources,
	type SourceFile,
	stripComments,
} from "./read-imports.ts";

const files = readSources("src", "functions", "native");
const inSrc = files.filter((file) => file.path.startsWith("src/"));
const inHouse = files.filter((file) => !file.path.startsWith("functions/"));
const edgeEntries = files.filter((file) => /^functions\/.*\.workers\.ts$/.test(file.path));

const packageOf = (specifier: string) =>
	specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");

function rowOf(path: string) {
	let folder = dirname(path);
	while (!(folder in importTable) && folder.includes("/")) folder = dirname(folder);
	return { folder, row: importTable[folder] };
}

/** The rule that `one` breaks, or null. */
function broken(file: SourceFile, one: SourceFile["imports"][number]): string | null {
	const { folder, row } = rowOf(file.path);
	if (row === undefined) return `${file.path}: no row of the table for ${folder}`;
	const says = `${file.path} imports ${one.specifier}`;
	if (one.specifier.startsWith("node:")) {
		return row.node || exceptions[file.path]?.node ? null : `${says}: ${folder} runs without Node`;
	}
	if (one.file) {
		const targetFolder = rowOf(one.target).folder;
		const allowed =
			row.files.includes(one.target) ||
			row.files.includes(targetFolder) ||
			one.target === "package.json";
		if (!allowed) return `${says}: ${folder} does not know ${targetFolder}`;
		return /\.(ts|js|mjs|json|node|html|css)$/.test(one.specifier)
			? null
			: `${says}: no file extension`;
	}
	const allowed = [...row.packages, ...(exceptions[file.path]?.packages ?? [])];
	const fits = allowed.some((name) =>
		name.endsWith("/")
			? one.specifier.startsWith(name) || `${packageOf(one.specifier)}/` === name
			: one.specifier === name,
	);
	return fits ? null : `${says}: ${folder} does not use that package`;
}

describe("the reader of imports", () => {
	it("finds static, type, re-exported, bare and dynamic specifiers and nothing in comments or strings", () => {
		const source = `
			import a, { type B } from "./a.ts";
			import type { C } from "./c.ts";
			export { d } from "./d.ts";
			export * from './e.ts';
			import "./f.ts";
			const g = await import("./g.ts");
			// import h from "./h.ts";
			/* import i from "./i.ts"; */
			const j = 'import k from "./k.ts"';
			import {
				l,
			} from "node:l";`;
		expect(importSpecifiers(source)).toEqual([
			{ specifier: "./a.ts", typeOnly: false },
			{ specifier: "./c.ts", typeOnly: true },
			{ specifier: "./d.ts", typeOnly: false },
			{ specifier: "./e.ts", typeOnly: false },
			{ specifier: "./f.ts", typeOnly: false },
			{ specifier: "node:l", typeOnly: false },
			{ specifier: "./g.ts", typeOnly: false },
		]);
	});

	it("finds a cycle and the way to a forbidden package", () => {
		const file = (path: string, ...targets: string[]): SourceFile => ({
			path,
			text: "",
			imports: targets.map((target) => ({
				target,
				specifier: target,
				typeOnly: false,
				file: target.endsWith(".ts"),
			})),
		});
		const house = [file("a.ts", "b.ts"), file("b.ts", "c.ts", "@duckdb/x"), file("c.ts", "a.ts")];
		expect(cycles(house)).toEqual([["a.ts", "b.ts", "c.ts", "a.ts"]]);
		expect(reach(house, "a.ts", { types: true }).get("@duckdb/x")).toEqual([
			"a.ts",
			"b.ts",
			"@duckdb/x",
		]);
	});

	it("reads the sources of every step", () => {
		expect(inSrc.length).toBeGreaterThan(8);
		expect(missingTargets(files)).toEqual([]);
	});
});

describe("the arrows", () => {
	it("point inward: every import is in the table", () => {
		const faults = inHouse.flatMap((file) => file.imports.map((one) => broken(file, one)));
		expect(faults.filter((fault) => fault !== null)).toEqual([]);
	});

	it("reach no driver from another folder of src", () => {
		const faults = inSrc.flatMap((file) =>
			file.imports
				.filter(
					(one) => one.file && driverFolders.some((folder) => one.target.startsWith(`${folder}/`)),
				)
				.filter(
					(one) =>
						!driverFolders.some(
							(folder) => one.target.startsWith(`${folder}/`) && file.path.startsWith(`${folder}/`),
						),
				)
				.map((one) => `${file.path} imports the driver ${one.target}`),
		);
		expect(faults).toEqual([]);
	});

	it("lead to native and @duckdb only from src/insert/duckdb", () => {
		const faults = inSrc
			.filter((file) => !file.path.startsWith("src/insert/duckdb/"))
			.flatMap((file) =>
				file.imports
					.filter((one) => isEngine(one.target))
					.map((one) => `${file.path}: ${one.target}`),
			);
		expect(faults).toEqual([]);
	});

	it("never lead from upload, tenant, stage, trigger or arrow to the engine, not even for a type", () => {
		const starts = inSrc.filter((file) =>
			engineFreeFolders.some((folder) => file.path.startsWith(`${folder}/`)),
		);
		const faults = starts.flatMap((file) =>
			[...reach(files, file.path, { types: true })]
				.filter(([target]) => isEngine(target) || target.startsWith("src/insert/duckdb/"))
				.map(([, way]) => way.join(" > ")),
		);
		expect(faults).toEqual([]);
	});

	it("never lead from an edge function to node:, the engine or the AWS client", () => {
		expect(edgeEntries.map((file) => file.path)).toContain("functions/upload.workers.ts");
		const faults = edgeEntries.flatMap((file) =>
			[...reach(files, file.path, { types: false })]
				.filter(
					([target]) =>
						target.startsWith("node:") || target.startsWith("@aws-sdk/") || isEngine(target),
				)
				.map(([, way]) => way.join(" > ")),
		);
		expect(faults).toEqual([]);
	});

	it("never lead back to where they began", () => {
		expect(cycles(files).map((cycle) => cycle.join(" > "))).toEqual([]);
	});
});

describe("a file of src", () => {
	const codeOf = new Map(inSrc.map((file) => [file.path, stripComments(file.text)]));

	it("is no barrel and exports no star", () => {
		const faults = inSrc
			.filter((file) => {
				const code = codeOf.get(file.path)!;
				const own = code.replace(
					/(?:import|export)\s+[\w*{}\s,$]+?\s+from\s*["'][^"']+["'];?/g,
					"",
				);
				return (
					/^\s*export\s*\*/m.test(code) || basename(file.path) === "index.ts" || own.trim() === ""
				);
			})
			.map((file) => file.path);
		expect(faults).toEqual([]);
	});

	it("has a kebab-case name", () => {
		const faults = files.filter(
			(file) => !/^[a-z0-9]+([-.][a-z0-9]+)*\.(ts|js|mjs)$/.test(basename(file.path)),
		);
		expect(faults.map((file) => file.path)).toEqual([]);
	});

	it("reads no environment: functions/ does", () => {
		const faults = inSrc.filter((file) =>
			/\bprocess\.env\b|import\.meta\.env|\benv\b[^;]*from\s*"node:process"/.test(
				codeOf.get(file.path)!,
			),
		);
		expect(faults.map((file) => file.path)).toEqual([]);
	});

	it("uses no global of Node where the code runs anywhere", () => {
		const faults = inSrc
			.filter((file) => runtimeFreeFolders.some((folder) => file.path.startsWith(`${folder}/`)))
			.filter((file) => !(file.path in exceptions))
			.filter((file) =>
				/(?<![.\w"'])(?:Buffer|process|__dirname|setImmediate)\s*[.(]/.test(codeOf.get(file.path)!),
			);
		expect(faults.map((file) => file.path)).toEqual([]);
	});

	it("opens with a comment that says why where it is longer than 400 lines", () => {
		const faults = inSrc
			.filter((file) => file.text.split("\n").length > 400 && !file.text.startsWith("/**"))
			.map((file) => file.path);
		expect(faults).toEqual([]);
	});
});

describe("the table of exceptions", () => {
	it("names only files that need it", () => {
		const unused = Object.keys(exceptions).filter((path) => {
			const file = files.find((one) => one.path === path);
			return file !== undefined && !file.imports.some((one) => one.specifier.startsWith("node:"));
		});
		expect(unused).toEqual([]);
	});
});
