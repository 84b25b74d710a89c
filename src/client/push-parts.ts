/**
 * The parts of one upload, sent a few at a time.
 *
 * In: an open upload, the bytes, what the service already has. Out: how many parts
 * there are. Parts that are there with the same size and SHA-256 are not sent
 * again. Memory: `parallel + 1` parts.
 */
import { SourceError } from "./client-errors.ts";
import { type ArrowSource, cutParts, type Part } from "./cut-parts.ts";
import type { SendRequest } from "./http-client.ts";

export interface PushPartsOptions {
	uploadId: string;
	partSize: number;
	maxParts: number;
	maxBytes: number;
	parallel: number;
	/** Bytes go through the service, or straight to the object store by presigned URLs. */
	parts: "proxy" | "direct";
	sha256(bytes: Uint8Array<ArrayBuffer>): Uint8Array | Promise<Uint8Array>;
	/** What the service has of this upload, by part number. */
	present: ReadonlyMap<number, { size: number; sha256: string | null }>;
	signal?: AbortSignal | undefined;
	onProgress?: ((progress: PartsProgress) => void) | undefined;
}

export interface PartsProgress {
	/** Parts that are there, sent now or before, and their bytes. */
	partsDone: number;
	bytesDone: number;
	/** Of those: not sent again. */
	bytesSkipped: number;
	partsInFlight: number;
}

export async function pushParts(
	source: ArrowSource,
	send: SendRequest,
	options: PushPartsOptions,
): Promise<{ parts: number; bytes: number }> {
	const progress: PartsProgress = { partsDone: 0, bytesDone: 0, bytesSkipped: 0, partsInFlight: 0 };
	const tell = () => options.onProgress?.({ ...progress });
	const failed = new AbortController();
	const signal = AbortSignal.any(
		options.signal === undefined ? [failed.signal] : [failed.signal, options.signal],
	);
	const inFlight = new Set<Promise<void>>();
	const spares: Uint8Array<ArrayBuffer>[] = [];
	const reuses = !(source instanceof Blob);
	let parts = 0;
	let bytes = 0;

	const pushOne = async (part: Part) => {
		const digest = await options.sha256(part.bytes);
		const there = options.present.get(part.n);
		const skip = there?.size === part.bytes.byteLength && there.sha256 === hex(digest);
		if (!skip) await putPart(part, digest, send, options, signal);
		if (skip) progress.bytesSkipped += part.bytes.byteLength;
		// Answered, so nobody reads its bytes any more.
		if (reuses && part.bytes.byteLength === options.partSize) spares.push(part.bytes);
		progress.partsDone += 1;
		progress.bytesDone += part.bytes.byteLength;
	};

	try {
		for await (const part of cutParts(source, options.partSize, spares)) {
			signal.throwIfAborted();
			parts = part.n;
			bytes += part.bytes.byteLength;
			if (parts > options.maxParts) {
				throw new SourceError(
					`more than ${options.maxParts} parts of ${options.partSize} bytes: use larger parts`,
				);
			}
			if (bytes > options.maxBytes) {
				throw new SourceError(`more than the ${options.maxBytes} bytes that one upload may have`);
			}
			while (inFlight.size >= options.parallel) await Promise.race(inFlight);
			progress.partsInFlight += 1;
			tell();
			const run: Promise<void> = pushOne(part)
				.catch((error: unknown) => failed.abort(error))
				.finally(() => {
					inFlight.delete(run);
					progress.partsInFlight -= 1;
					tell();
				});
			inFlight.add(run);
		}
		await Promise.all(inFlight);
		signal.throwIfAborted();
	} catch (error) {
		failed.abort(error);
		await Promise.all(inFlight);
		throw error;
	}
	return { parts, bytes };
}

async function putPart(
	part: Part,
	digest: Uint8Array,
	send: SendRequest,
	options: PushPartsOptions,
	signal: AbortSignal,
): Promise<void> {
	const path = `/v1/uploads/${encodeURIComponent(options.uploadId)}/parts`;
	if (options.parts === "proxy") {
		await send({
			method: "PUT",
			path: `${path}/${part.n}`,
			headers: {
				"Content-Type": "application/octet-stream",
				"Content-Digest": `sha-256=:${base64(digest)}:`,
			},
			body: part.bytes,
			signal,
		});
		return;
	}
	const size = part.bytes.byteLength;
	const answer = await send({
		method: "POST",
		path,
		headers: { "Content-Type": "application/json" },
		body: JSON.stringify({ parts: [{ n: part.n, size, sha256: hex(digest) }] }),
		signal,
	});
	const { urls } = answer.json as { urls: { url: string; headers: Record<string, string> }[] };
	const [target] = urls;
	if (target === undefined) throw new SourceError(`the service gave no URL for part ${part.n}`);
	await send({
		method: "PUT",
		path: target.url,
		headers: target.headers,
		body: part.bytes,
		signal,
	});
}

export function hex(bytes: Uint8Array): string {
	return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function base64(bytes: Uint8Array): string {
	return btoa(String.fromCharCode(...bytes));
}
