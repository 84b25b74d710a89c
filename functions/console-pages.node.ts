/**
 * The console's files as browsers take them: its TypeScript with the types taken
 * out, each once. Nothing but what the console is made of is served.
 */
import { readFile } from "node:fs/promises";
import { stripTypeScriptTypes } from "node:module";
import { join } from "node:path";

const root = join(import.meta.dirname, "../src");
/** The console, the client that it uploads with, and the words that both share. */
const served = /^\/console\/src\/((?:(?:console|client)\/)?[a-z0-9-]+\.(?:ts|css))$/;
const sharedFiles = new Set(["flow.ts", "errors.ts"]);

const policy =
	"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const kept = new Map<string, Promise<{ body: string; type: string } | null>>();

export async function consolePages(path: string): Promise<Response | null> {
	const name = path === "/console" ? "console/index.html" : served.exec(path)?.[1];
	if (name === undefined || (!name.includes("/") && !sharedFiles.has(name))) return null;
	if (!kept.has(name)) kept.set(name, readPage(name));
	const page = await kept.get(name)!;
	if (page === null) return null;
	return new Response(page.body, {
		headers: {
			"Content-Type": `${page.type}; charset=utf-8`,
			"Content-Security-Policy": policy,
			"Cache-Control": "public, max-age=60",
		},
	});
}

async function readPage(name: string): Promise<{ body: string; type: string } | null> {
	const text = await readFile(join(root, name), "utf8").catch((error: NodeJS.ErrnoException) => {
		if (error.code === "ENOENT") return null;
		throw error;
	});
	if (text === null) return null;
	if (name.endsWith(".html")) return { body: text, type: "text/html" };
	if (name.endsWith(".css")) return { body: text, type: "text/css" };
	return { body: stripTypeScriptTypes(text), type: "text/javascript" };
}
