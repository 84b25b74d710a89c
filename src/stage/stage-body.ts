/**
 * One request's body of any length, cut into part objects in bounded memory.
 *
 * In: the request and its body. Out: `upload.json`, `parts/00001 …` and what the
 * bytes are. Order: the request and the parts are written side by side (no one
 * loads before the manifest); a body that fails leaves a tombstone and no bytes.
 */

import { asIngestError, IngestError } from "../errors.ts";
import type { ManifestPart, UploadRequest } from "../flow.ts";
import { putJson } from "./json-object.ts";
import { measureBody, readChunk } from "./measure-body.ts";
import { partKey, partName, uploadKey } from "./object-keys.ts";
import {
	closeUpload,
	type NewUpload,
	newUpload,
	removeParts,
	type StageDeps,
} from "./stage-upload.ts";

export interface StagedBody {
	upload: UploadRequest;
	parts: ManifestPart[];
	/** Staged bytes. */
	size: number;
	/** Lower-case hex of all of them; null where nobody asked and there are several parts. */
	sha256: string | null;
}

/** Bodies up to this are one write of known length. */
const smallBodyBytes = 256 * 1024;
/** Parts whose put may still be settling while the next one is read. */
const maxSettling = 2;

/**
 * `truncated_stream` (the body was cut), `too_large` (over `maxUploadBytes` as
 * sent), `digest_mismatch` (`sha256`, lower-case hex of the whole body as sent).
 */
export async function stageBody(
	deps: StageDeps,
	fields: NewUpload,
	body: ReadableStream<Uint8Array>,
	options: { sha256?: string; signal?: AbortSignal } = {},
): Promise<StagedBody> {
	const upload = newUpload(deps, fields);
	const { tenant, upload_id: id } = upload;
	const request = putJson(deps.store, uploadKey(tenant, id), upload);
	request.catch(() => {});
	try {
		const staged = await cutBody(deps, upload, body, options);
		await request;
		return staged;
	} catch (error) {
		await request.catch(() => {});
		await discardUpload(deps, tenant, id);
		throw asIngestError(error);
	}
}

/** No load comes of it and its bytes go; what doesn't work now is the sweep's. */
export async function discardUpload(deps: StageDeps, tenant: string, id: string): Promise<void> {
	try {
		if ((await closeUpload(deps, tenant, id, "aborted")) === null) {
			await removeParts(deps.store, tenant, id);
		}
	} catch {
		// The store doesn't answer: the upload expires.
	}
}

async function cutBody(
	deps: StageDeps,
	upload: UploadRequest,
	body: ReadableStream<Uint8Array>,
	options: { sha256?: string; signal?: AbortSignal },
): Promise<StagedBody> {
	const { limits } = deps;
	const wantsWhole = options.sha256 !== undefined || upload.idempotency_key !== null;
	const source = new ChunkSource(body, (total) => {
		if (total > limits.maxUploadBytes) {
			throw new IngestError(
				"too_large",
				`the body has ${total} bytes or more, an upload takes ${limits.maxUploadBytes}`,
				{ extra: { limit_bytes: limits.maxUploadBytes } },
			);
		}
	});
	const whole = wantsWhole ? deps.createSha256() : null;
	const parts: Promise<ManifestPart>[] = [];
	try {
		while (await source.hasMore()) {
			options.signal?.throwIfAborted();
			const settled = parts[parts.length - maxSettling];
			if (settled !== undefined) await settled;
			if (parts.length === limits.maxParts) {
				throw new IngestError(
					"too_large",
					`the body needs more than ${limits.maxParts} parts of ${limits.partBytes} bytes`,
					{ extra: { limit_bytes: limits.maxParts * limits.partBytes } },
				);
			}
			const { read, stored } = startPart(deps, upload, parts.length + 1, source, whole);
			stored.catch(() => {});
			parts.push(stored);
			await read;
		}
		const all = await Promise.all(parts);
		let sha256 = whole === null ? null : await whole.digestHex();
		if (sha256 === null && all.length === 1) sha256 = all[0]!.sha256;
		if (options.sha256 !== undefined && sha256 !== options.sha256) {
			throw new IngestError(
				"digest_mismatch",
				`SHA-256 ${options.sha256} was announced, the ${source.total} bytes have ${sha256}`,
			);
		}
		return { upload, parts: all, size: source.total, sha256 };
	} catch (error) {
		source.cancel(error);
		await Promise.allSettled(parts);
		throw error;
	}
}

/** `read` settles when the source may be read on, `stored` when the part is durable. */
function startPart(
	deps: StageDeps,
	upload: UploadRequest,
	n: number,
	source: ChunkSource,
	whole: { update(bytes: Uint8Array): void | Promise<void> } | null,
): { read: Promise<void>; stored: Promise<ManifestPart> } {
	const key = partKey(upload.tenant, upload.upload_id, partName(n));
	const read = Promise.withResolvers<void>();
	read.promise.catch(() => {});
	const stored = (async () => {
		try {
			const little = await source.endsWithin(smallBodyBytes);
			const direct = deps.store.needsKnownLength === true || little;
			const cut = source.cut(deps.limits.partBytes, whole, read.resolve);
			const measured = measureBody(cut, deps.createSha256());
			const bytes = direct ? await collect(measured.stream) : measured.stream;
			const info = await deps.store.put(key, bytes, { ifAbsent: true });
			const { size, sha256 } = await measured.result();
			if (info === null) throw new IngestError("internal", `there is an object ${key} already`);
			return { n, key, size, etag: info.etag, sha256 };
		} catch (error) {
			read.reject(error);
			throw error;
		}
	})();
	return { read: read.promise, stored };
}

async function collect(stream: ReadableStream<Uint8Array>): Promise<Uint8Array> {
	const chunks: Uint8Array[] = [];
	let size = 0;
	for await (const chunk of stream as unknown as AsyncIterable<Uint8Array>) {
		chunks.push(chunk);
		size += chunk.length;
	}
	if (chunks.length === 1) return chunks[0]!;
	const bytes = new Uint8Array(size);
	let at = 0;
	for (const chunk of chunks) {
		bytes.set(chunk, at);
		at += chunk.length;
	}
	return bytes;
}

/** The body's chunks, read ahead by one so that its end is known before a part is begun. */
class ChunkSource {
	total = 0;
	readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
	readonly #onBytes: (total: number) => void;
	#ahead: Uint8Array[] = [];
	#ended = false;

	constructor(body: ReadableStream<Uint8Array>, onBytes: (total: number) => void) {
		this.#reader = body.getReader();
		this.#onBytes = onBytes;
	}

	async hasMore(): Promise<boolean> {
		while (this.#ahead.length === 0 && !this.#ended) await this.#fill();
		return this.#ahead.length > 0;
	}

	/** No more than that many bytes are left. */
	async endsWithin(bytes: number): Promise<boolean> {
		const ahead = () => this.#ahead.reduce((sum, chunk) => sum + chunk.length, 0);
		while (!this.#ended && ahead() <= bytes) await this.#fill();
		return this.#ended && ahead() <= bytes;
	}

	/** The next `limit` bytes as a stream; `onRead` once the source stands behind them. */
	cut(
		limit: number,
		whole: { update(bytes: Uint8Array): void | Promise<void> } | null,
		onRead: () => void,
	): ReadableStream<Uint8Array> {
		let left = limit;
		return new ReadableStream<Uint8Array>(
			{
				pull: async (controller) => {
					if (left === 0 || !(await this.hasMore())) {
						onRead();
						controller.close();
						return;
					}
					let chunk = this.#ahead.shift()!;
					if (chunk.length > left) {
						this.#ahead.unshift(chunk.subarray(left));
						chunk = chunk.subarray(0, left);
					}
					left -= chunk.length;
					await whole?.update(chunk);
					controller.enqueue(chunk);
				},
			},
			{ highWaterMark: 0 },
		);
	}

	cancel(reason: unknown): void {
		this.#reader.cancel(reason).catch(() => {});
	}

	async #fill(): Promise<void> {
		const { value } = await readChunk(this.#reader, this.total);
		if (value === undefined) {
			this.#ended = true;
		} else if (value.length > 0) {
			this.total += value.length;
			this.#onBytes(this.total);
			this.#ahead.push(value);
		}
	}
}
