/**
 * `/docs` with its renderer, as its package has it built for browsers, and the console's
 * files: TypeScript with the types taken out, each once. Nothing but what the two pages
 * are made of is served.
 */
import { readdir, readFile } from "node:fs/promises";
import { stripTypeScriptTypes } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { docsHtml } from "../src/docs/docs-page.ts";
import { pageHeaders } from "../src/upload/page-headers.ts";

const root = join(import.meta.dirname, "../src");
/** The console and the client that it uploads with. */
const folders = ["console", "client"];
/** The words that both share. */
const sharedFiles = ["flow.ts", "errors.ts"];
/** What `/docs` is made of, by path. */
const docsFiles: ReadonlyMap<string, string> = new Map([
	["/docs/docs.css", join(root, "docs/docs.css")],
	["/docs/docs.ts", join(root, "docs/docs.ts")],
	[
		"/docs/openapi-explorer.min.js",
		fileURLToPath(import.meta.resolve("openapi-explorer/dist/browser/openapi-explorer.min.js")),
	],
]);
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
	const ofConsole = files.flat().filter((path) => served.test(path));
	return ["/docs", ...docsFiles.keys(), "/console", ...shared, ...ofConsole];
}

async function readPage(path: string): Promise<string | null> {
	if (path === "/docs") return docsHtml();
	const file = docsFiles.get(path) ?? consoleFile(path);
	if (file === null) return null;
	const text = await readFile(file, "utf8").catch((error: NodeJS.ErrnoException) => {
		if (error.code === "ENOENT") return null;
		throw error;
	});
	return text !== null && file.endsWith(".ts") ? stripTypeScriptTypes(text) : text;
}

function consoleFile(path: string): string | null {
	const name = path === "/console" ? "console/index.html" : served.exec(path)?.[1];
	if (name === undefined || (!name.includes("/") && !sharedFiles.includes(name))) return null;
	return join(root, name);
}
