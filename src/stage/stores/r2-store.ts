/**
 * The object store on a Worker's R2 binding.
 * https://developers.cloudflare.com/r2/api/workers/workers-api-reference/
 *
 * R2 takes a stream only with its length. A stream without one is gathered first,
 * up to `maxGatheredBytes`, so a request never holds more than that in memory;
 * bodies of any length are cut into parts before they come here.
 */

import { collectBytes } from "../../collect-bytes.ts";
import { IngestError } from "../../errors.ts";
import type { ObjectInfo, ObjectStore, PutOptions } from "../object-store.ts";
import type { PresignPut } from "./presign-put.ts";

/** What we use of R2's binding; the runtime's own objects fit. */
export interface R2Bucket {
	put(
		key: string,
		value: Uint8Array | ReadableStream<Uint8Array>,
		options?: { onlyIf?: R2Conditional; sha256?: string },
	): Promise<R2Object | null>;
	get(
		key: string,
		options?: { range?: { offset: number; length?: number }; onlyIf?: R2Conditional },
	): Promise<(R2Object & { body?: ReadableStream<Uint8Array> }) | null>;
	head(key: string): Promise<R2Object | null>;
	delete(key: string): Promise<void>;
	list(options: {
		prefix: string;
		startAfter?: string;
		cursor?: string;
		limit?: number;
	}): Promise<{ objects: R2Object[]; truncated: boolean; cursor?: string }>;
}
interface R2Conditional {
	etagMatches?: string;
	etagDoesNotMatch?: string;
}
interface R2Object {
	key: string;
	size: number;
	/** In quotes, as R2's S3 API tells it: who reads the bucket there must find the same. */
	httpEtag: string;
	version: string;
	uploaded: Date;
}

/** Pairs a writable with a readable of a length that R2 can see; workerd's own class. */
export type FixedLength = (size: number) => TransformStream<Uint8Array, Uint8Array>;

/** An isolate has 128 MB for all its requests. */
const maxGatheredBytes = 32 * 1024 * 1024;
/** Gathered even where the length is known. */
const smallBodyBytes = 256 * 1024;

export function createR2Store(options: {
	bucket: R2Bucket;
	fixedLength: FixedLength;
	/** Before every key, with its slash; empty: none. */
	prefix?: string;
	/** Of the same bucket's S3 API: the binding itself signs nothing. */
	presignPut?: PresignPut | undefined;
}): ObjectStore {
	const { bucket, fixedLength, prefix = "", presignPut } = options;
	const infoOf = (object: R2Object): ObjectInfo => ({
		key: object.key.slice(prefix.length),
		size: object.size,
		etag: object.httpEtag,
		lastModified: object.uploaded.getTime(),
		version: object.version,
	});

	return {
		description: `r2:${prefix}`,
		needsKnownLength: true,

		async put(key, body, put = {}) {
			put.signal?.throwIfAborted();
			const wanted = {
				...(put.ifAbsent ? { onlyIf: { etagDoesNotMatch: "*" } } : {}),
				...(put.ifMatch === undefined ? {} : { onlyIf: { etagMatches: bare(put.ifMatch) } }),
				...(put.sha256 === undefined ? {} : { sha256: put.sha256 }),
			};
			const name = prefix + key;
			const stored =
				body instanceof Uint8Array
					? await talk(() => bucket.put(name, checked(key, body, put), wanted))
					: put.size === undefined || put.size <= smallBodyBytes
						? await gather(key, body).then((bytes) =>
								talk(() => bucket.put(name, checked(key, bytes, put), wanted)),
							)
						: await putStream(name, body, put.size, wanted);
			return stored === null ? null : infoOf(stored);
		},

		async get(key, get = {}) {
			const { offset = 0, length } = get.range ?? {};
			const conditions =
				get.ifMatch === undefined ? {} : { onlyIf: { etagMatches: bare(get.ifMatch) } };
			// R2 refuses a range that begins at the end or past it; there it is no bytes.
			const whole = offset === 0 && length === undefined;
			if (!whole) {
				const info = await talk(() => bucket.head(prefix + key));
				if (info === null) return null;
				if (get.ifMatch !== undefined && info.httpEtag !== get.ifMatch) return null;
				if (offset >= info.size || length === 0) return { info: infoOf(info), body: emptyStream() };
			}
			const range = whole ? {} : { range: { offset, ...(length === undefined ? {} : { length }) } };
			const object = await talk(() => bucket.get(prefix + key, { ...range, ...conditions }));
			if (object === null || object.body === undefined) return null;
			return { info: infoOf(object), body: object.body };
		},

		async head(key) {
			const object = await talk(() => bucket.head(prefix + key));
			return object === null ? null : infoOf(object);
		},

		async delete(key) {
			await talk(() => bucket.delete(prefix + key));
		},

		async *list(under, list = {}) {
			const startAfter =
				list.startAfter === undefined ? {} : { startAfter: prefix + list.startAfter };
			let cursor: string | undefined;
			do {
				const from = cursor === undefined ? startAfter : { cursor };
				const page = await talk(() => bucket.list({ prefix: prefix + under, ...from }));
				for (const object of page.objects) yield infoOf(object);
				cursor = page.truncated ? page.cursor : undefined;
			} while (cursor !== undefined);
		},

		...(presignPut === undefined
			? {}
			: { presignPut: (key, options) => presignPut(prefix + key, options) }),
	};

	async function putStream(
		name: string,
		body: ReadableStream<Uint8Array>,
		size: number,
		wanted: object,
	): Promise<R2Object | null> {
		const sized = fixedLength(size);
		// The body's own error is the one to tell; R2 sees only that its stream ended early.
		let fault: unknown;
		const piped = body
			.pipeThrough(holdBackLast())
			.pipeTo(sized.writable)
			.catch((error) => {
				fault = error;
			});
		try {
			const stored = await talk(() => bucket.put(name, sized.readable, wanted));
			await piped;
			if (fault !== undefined && stored !== null) throw fault;
			return stored;
		} catch (error) {
			await sized.readable.cancel(error).catch(() => {});
			await piped;
			if (fault instanceof IngestError) throw fault;
			if (fault !== undefined) {
				throw new IngestError("truncated_stream", `${name}: the body is not of ${size} bytes`, {
					cause: fault,
				});
			}
			throw error;
		}
	}
}

/**
 * Each chunk goes on once the next one is there, the last one once the body has
 * ended well: a body that errors at its very end is never whole to R2.
 */
function holdBackLast(): TransformStream<Uint8Array, Uint8Array> {
	let held: Uint8Array | null = null;
	return new TransformStream({
		transform(chunk, controller) {
			if (chunk.length === 0) return;
			if (held !== null) controller.enqueue(held);
			held = chunk;
		},
		flush(controller) {
			if (held !== null) controller.enqueue(held);
		},
	});
}

function checked(key: string, bytes: Uint8Array, { size }: PutOptions): Uint8Array {
	if (size === undefined || size === bytes.length) return bytes;
	throw new IngestError(
		"truncated_stream",
		`${key}: ${size} bytes were announced, ${bytes.length} came`,
	);
}

function gather(key: string, body: ReadableStream<Uint8Array>): Promise<Uint8Array> {
	return collectBytes(body, (size) => {
		if (size <= maxGatheredBytes) return;
		throw new IngestError(
			"too_large",
			`${key}: a body without Content-Length has at most ${maxGatheredBytes} bytes here; send its length`,
			{ extra: { limit_bytes: maxGatheredBytes } },
		);
	});
}

/** The binding compares ETags without their quotes. */
const bare = (etag: string) => etag.replace(/^"(.*)"$/, "$1");

/** R2's errors as ours: a wrong digest is the caller's, all else may pass. */
async function talk<T>(work: () => Promise<T>): Promise<T> {
	try {
		return await work();
	} catch (cause) {
		if (cause instanceof IngestError) throw cause;
		const message = cause instanceof Error ? cause.message : String(cause);
		// 10037: "The SHA-256 checksum you specified did not match what we received."
		if (/\(10037\)|checksum/i.test(message)) {
			throw new IngestError("digest_mismatch", message, { cause });
		}
		throw new IngestError("store_unavailable", `R2: ${message}`, {
			cause,
			retryAfterSeconds: 2,
		});
	}
}

function emptyStream(): ReadableStream<Uint8Array> {
	return new ReadableStream({ start: (controller) => controller.close() });
}
