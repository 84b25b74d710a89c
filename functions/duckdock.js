#!/usr/bin/env node
/**
 * What users start: `duckdock.node.ts` with its modules as they were compiled the last time.
 *
 * JavaScript, since the first TypeScript module that isn't in the cache brings the type stripper, a
 * WebAssembly module, into the process. Measured on Node 24, started the second time: the service's two
 * processes hold 27 MB less each. Where the folder can't be written all is as without it.
 */
import { enableCompileCache } from "node:module";
import process from "node:process";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL("../node_modules/.cache/duckdock", import.meta.url));
const { directory } = enableCompileCache(folder);
// For the loader, which is a process of its own.
if (directory !== undefined) process.env.NODE_COMPILE_CACHE ??= folder;
await import("./duckdock.node.ts");
