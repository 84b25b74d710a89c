/**
 * `duckdock push` without the command line around it, first byte to receipt.
 * `push-parts.ts URL KEY FILE TABLE`
 */
import "../../functions/young-generation.node.ts";
import process from "node:process";
import { findFiles, readFiles } from "../../src/cli/input-files.ts";
import { nodeClient } from "../../src/cli/node-client.ts";
import { createIngestClient } from "../../src/client/ingest-client.ts";

const [url, key, path, table] = process.argv.slice(2);
const files = await findFiles([path!]);
const client = createIngestClient({ ...nodeClient, url: url!, key });
const started = performance.now();
const { size, bytes } = await readFiles(files, process.stdin);
const options = { mode: "create", parallel: 4, ...(size === null ? {} : { size }) } as const;
const receipt = await client.ingest(table!, bytes, options);
const seconds = (performance.now() - started) / 1000;
console.log(JSON.stringify({ seconds, rows: receipt.rows_inserted, parts: receipt.parts }));
