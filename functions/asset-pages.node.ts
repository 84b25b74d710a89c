/** The pages out of the folder that `build-assets.node.ts` wrote, where sources aren't at hand. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { pageFile, pageHeaders } from "../src/upload/page-headers.ts";

export function assetPages(folder: string): (path: string) => Promise<Response | null> {
	let listed: Promise<Set<string>> | undefined;
	return async (path) => {
		listed ??= listFiles(folder);
		const file = pageFile(path).slice(1);
		// Only what the list has is opened: a path can name nothing else.
		if (!(await listed).has(file)) return null;
		return new Response(await readFile(join(folder, file)), { headers: pageHeaders(path) });
	};
}

async function listFiles(folder: string): Promise<Set<string>> {
	const entries = await readdir(folder, { recursive: true, withFileTypes: true });
	const files = entries.filter((entry) => entry.isFile());
	return new Set(files.map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1)));
}
