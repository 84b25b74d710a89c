/** `node functions/build-assets.node.ts`: the pages as files, for the Worker's static assets. Run by wrangler. */
import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { pagePaths, servicePages } from "./service-pages.node.ts";

/** `[assets]` of `wrangler.toml`. */
const folder = join(import.meta.dirname, "../dist/assets");

await rm(folder, { recursive: true, force: true });
for (const path of await pagePaths()) {
	const page = await servicePages(path);
	// A folder `console` lies beside the page: only files with a name of their own are files.
	const file = join(folder, /\.[a-z]+$/.test(path) ? path : `${path}.html`);
	await mkdir(dirname(file), { recursive: true });
	await writeFile(file, await page!.text());
}
