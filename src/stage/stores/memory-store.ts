/** Object storage in this process's memory: for tests, and the model that other drivers are held to. */
import { IngestError } from "../../errors.ts";
import type { ObjectInfo, ObjectStore } from "../object-store.ts";
import { compareKeys } from "./compare-keys.ts";

interface Entry {
	info: ObjectInfo;
	bytes: Uint8Array;
}

export function createMemoryStore(options: { now?: () => number } = {}): ObjectStore {
	const now = options.now ?? Date.now;
	const entries = new Map<string, Entry>();
	let writes = 0;
	return {
		description: "memory:",
		async put(key, body, options = {}) {
			const bytes = body instanceof Uint8Array ? body.slice() : await readAll(body, options.signal);
			options.signal?.throwIfAborted();
			if (options.size !== undefined && options.size !== bytes.length) {
				throw new IngestError(
					"truncated_stream",
					`${key}: ${options.size} bytes were announced, ${bytes.length} came`,
				);
			}
			if (options.sha256 !== undefined) await checkSha256(key, bytes, options.sha256);
			const before = entries.get(key);
			if (options.ifAbsent && before !== undefined) return null;
			if (options.ifMatch !== undefined && before?.info.etag !== options.ifMatch) return null;
			writes++;
			const info = { key, size: bytes.length, etag: `m${writes}`, lastModified: now() };
			entries.set(key, { info, bytes });
			return { ...info };
		},
		async get(key, options = {}) {
			const entry = entries.get(key);
			if (entry === undefined) return null;
			if (options.ifMatch !== undefined && options.ifMatch !== entry.info.etag) return null;
			const { offset, length } = { offset: 0, length: undefined, ...options.range };
			const bytes = entry.bytes.slice(
				offset,
				length === undefined ? undefined : Math.min(entry.bytes.length, offset + length),
			);
			return { info: { ...entry.info }, body: streamOf(bytes) };
		},
		async head(key) {
			const entry = entries.get(key);
			return entry === undefined ? null : { ...entry.info };
		},
		async delete(key) {
			entries.delete(key);
		},
		async *list(prefix, options = {}) {
			const { startAfter } = options;
			const keys = [...entries.keys()].filter(
				(key) =>
					key.startsWith(prefix) && (startAfter === undefined || compareKeys(key, startAfter) > 0),
			);
			for (const key of keys.sort(compareKeys)) {
				const entry = entries.get(key);
				if (entry !== undefined) yield { ...entry.info };
			}
		},
	};
}

function streamOf(bytes: Uint8Array): ReadableStream<Uint8Array> {
	return new ReadableStream({
		start(controller) {
			if (bytes.length > 0) controller.enqueue(bytes);
			controller.close();
		},
	});
}

async function readAll(
	body: ReadableStream<Uint8Array>,
	signal: AbortSignal | undefined,
): Promise<Uint8Array> {
	const chunks: Uint8Array[] = [];
	for await (const chunk of body as unknown as AsyncIterable<Uint8Array>) {
		signal?.throwIfAborted();
		chunks.push(chunk);
	}
	return new Uint8Array(await new Blob(chunks as Uint8Array<ArrayBuffer>[]).arrayBuffer());
}

async function checkSha256(key: string, bytes: Uint8Array, expected: string): Promise<void> {
	const digest = await crypto.subtle.digest("SHA-256", bytes as Uint8Array<ArrayBuffer>);
	const actual = Array.from(new Uint8Array(digest), (byte) =>
		byte.toString(16).padStart(2, "0"),
	).join("");
	if (actual !== expected) {
		throw new IngestError(
			"digest_mismatch",
			`${key}: SHA-256 ${expected} expected, ${actual} came`,
		);
	}
}
