/** Small Arrow streams for suites that are about what is around them. */
import { tableFromArrays, tableToIPC } from "apache-arrow";

/** `rows` rows of `id` (int32) and `name` (utf8). */
export function arrowStream(rows = 3, from = 0): Uint8Array<ArrayBuffer> {
	const ids = Int32Array.from({ length: rows }, (_, at) => from + at);
	const names = Array.from({ length: rows }, (_, at) => `row ${from + at}`);
	const table = tableFromArrays({ id: ids, name: names });
	return new Uint8Array(tableToIPC(table, "stream"));
}

/** One int32 column `id`; no strings, so no dictionaries. */
export function arrowNumbers(rows = 3, from = 0): Uint8Array<ArrayBuffer> {
	const ids = Int32Array.from({ length: rows }, (_, at) => from + at);
	return new Uint8Array(tableToIPC(tableFromArrays({ id: ids }), "stream"));
}
