/**
 * The TypeScript client from a process of its own, first byte to receipt.
 * `push-parts.ts URL KEY FILE TABLE`
 */
import "../../functions/young-generation.node.ts";
import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import process from "node:process";
import { createIngestClient } from "../../src/client/ingest-client.ts";

const [url, key, path, table] = process.argv.slice(2);
const { size } = await stat(path!);
const client = createIngestClient({ url: url!, key });
const started = performance.now();
const bytes = createReadStream(path!, { highWaterMark: 1024 * 1024 });
const receipt = await client.ingest(table!, bytes, { mode: "create", size, parallel: 4 });
const seconds = (performance.now() - started) / 1000;
console.log(JSON.stringify({ seconds, rows: receipt.rows_inserted, parts: receipt.parts }));
