/**
 * `/docs`, made of the table of routes, and the console's files as browsers take them:
 * its TypeScript with the types taken out, each once. Nothing but what the console is
 * made of is served.
 */
import { readdir, readFile } from "node:fs/promises";
import { stripTypeScriptTypes } from "node:module";
import { join } from "node:path";
import { docsHtml } from "../src/upload/docs-page.ts";
import { pageHeaders } from "../src/upload/page-headers.ts";
import { routes } from "../src/upload/routes.ts";

const root = join(import.meta.dirname, "../src");
/** The console and the client that it uploads with. */
const folders = ["console", "client"];
/** The words that both share. */
const sharedFiles = ["flow.ts", "errors.ts"];
const served = /^\/console\/src\/((?:(?:console|client)\/)?[a-z0-9-]+\.(?:ts|css))$/;

const kept = new Map<string, Promise<string | null>>();

export async function servicePages(path: string): Promise<Response | null> {
	if (!kept.has(path)) {
		const page = readPage(path);
		// What isn't there is not remembered: anybody may ask for any number of names.
		if ((await page) === null) return null;
		kept.set(path, page);
	}
	return new Response(await kept.get(path)!, { headers: pageHeaders(path) });
}

/** Every path that has a page. */
export async function pagePaths(): Promise<string[]> {
	const files = await Promise.all(
		folders.map(async (folder) =>
			(await readdir(join(root, folder))).map((name) => `/console/src/${folder}/${name}`),
		),
	);
	const shared = sharedFiles.map((name) => `/console/src/${name}`);
	return ["/docs", "/console", ...shared, ...files.flat().filter((path) => served.test(path))];
}

async function readPage(path: string): Promise<string | null> {
	if (path === "/docs") return docsHtml(routes);
	const name = path === "/console" ? "console/index.html" : served.exec(path)?.[1];
	if (name === undefined || (!name.includes("/") && !sharedFiles.includes(name))) return null;
	const text = await readFile(join(root, name), "utf8").catch((error: NodeJS.ErrnoException) => {
		if (error.code === "ENOENT") return null;
		throw error;
	});
	return text !== null && name.endsWith(".ts") ? stripTypeScriptTypes(text) : text;
}
