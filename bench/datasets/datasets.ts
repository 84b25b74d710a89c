/** Data sets by name: made once, kept in the cache as Arrow IPC streams. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { cacheFolder } from "../folders.ts";
import { writeLineitem } from "./lineitem.ts";
import { writeNarrow, writeWide } from "./plain.ts";

export interface Dataset {
	path: string;
	rows: number;
	/** A sum that every path's table must have, as SQL and as text of its result. */
	checkSql: string;
}

const folder = join(cacheFolder, "data");

async function once(name: string, make: (path: string) => Promise<void> | void): Promise<string> {
	mkdirSync(folder, { recursive: true });
	const path = join(folder, `${name}.arrows`);
	if (!existsSync(path)) {
		console.error(`   making ${name} …`);
		await make(path);
	}
	return path;
}

/** TPC-H's own rows where its generator is at hand, else a table of its shape. */
export async function lineitem(
	scale: number,
	batchRows: number,
	python: string | null,
): Promise<Dataset & { generator: string }> {
	const checkSql = "sum(l_quantity)::VARCHAR";
	if (python !== null) {
		const script = join(import.meta.dirname, "../python/tpch.py");
		const path = await once(`tpch-lineitem-sf${scale}-${batchRows}`, (out) => {
			execFileSync(python, [script, String(scale), String(batchRows), out], { stdio: "inherit" });
		});
		const rows = { 1: 6_001_215, 2: 11_997_996, 4: 23_996_604 }[scale] ?? 0;
		return { path, rows, checkSql, generator: "tpchgen-cli" };
	}
	return { ...(await lineitemShaped(6_000_000 * scale, batchRows)), generator: "of its shape" };
}

export async function lineitemShaped(rows: number, batchRows: number): Promise<Dataset> {
	const name = `lineitem-${rows}-${batchRows}`;
	const path = await once(name, (out) => writeLineitem(out, rows, batchRows));
	return { path, rows, checkSql: "sum(l_quantity)::VARCHAR" };
}

export async function narrow(rows: number, batchRows: number): Promise<Dataset> {
	const path = await once(`narrow-${rows}-${batchRows}`, (out) =>
		writeNarrow(out, rows, batchRows),
	);
	return { path, rows, checkSql: "sum(id)::VARCHAR" };
}

export async function wide(rows: number, width: number, batchRows: number): Promise<Dataset> {
	const name = `wide-${rows}-${width}-${batchRows}`;
	const path = await once(name, (out) => writeWide(out, rows, batchRows, width));
	return { path, rows, checkSql: "sum(c00)::VARCHAR" };
}

/** Strings, lists, dictionaries and codecs, which pyarrow writes. */
export async function shape(name: string, rows: number, python: string): Promise<Dataset> {
	const script = join(import.meta.dirname, "../python/shapes.py");
	const path = await once(`shape-${name}-${rows}`, (out) => {
		execFileSync(python, [script, name, String(rows), out], { stdio: "inherit" });
	});
	return { path, rows, checkSql: "sum(id)::VARCHAR" };
}
