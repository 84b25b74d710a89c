/** Where the bench keeps things: `.cache` is not in the repository, results are. */
import { join, resolve } from "node:path";

export const root = resolve(import.meta.dirname, "..");
export const cacheFolder = join(root, "bench/.cache");
export const resultsFolder = join(root, "bench/results");
