/**
 * An upload that grows at its end: each append becomes the next part objects, and
 * what became durable counts, however the append ends.
 *
 *   offset = bytes of parts 1, 2, 3 … as far as they go without a gap
 *
 * Parts are written one after the other, each put-if-absent: of appends that begin
 * at one offset exactly one gets the next part, on any number of processes, and
 * the others learn of it before a byte of theirs counts.
 */
import { IngestError } from "../errors.ts";
import type { ManifestPart, UploadRequest } from "../flow.ts";
import { inconsistentLength, offsetMismatch } from "./append-errors.ts";
import { ChunkSource } from "./chunk-source.ts";
import { cutPart } from "./cut-part.ts";
import { getJson, putJson } from "./json-object.ts";
import { measureBody } from "./measure-body.ts";
import { lengthKey, partKey, partName, sumKey } from "./object-keys.ts";
import { discardUpload } from "./stage-body.ts";
import {
	readManifest,
	readOpenUpload,
	readUpload,
	type StageDeps,
	type UploadState,
} from "./stage-upload.ts";

export interface AppendedUpload extends UploadState {
	/** Bytes that are durable; never fewer than once told. */
	offset: number;
	/** Bytes there will be, as the caller announced; null: not announced. */
	length: number | null;
}

/** As `readUpload`; of appends, what lies behind a gap is left out: it is none. */
export async function readAppended(
	deps: StageDeps,
	tenant: string,
	id: string,
): Promise<AppendedUpload> {
	const upload = await readUpload(deps, tenant, id);
	const inSequence = upload.request.appends !== undefined;
	const gap = inSequence ? upload.parts.findIndex(({ n }, at) => n !== at + 1) : -1;
	const parts = gap < 0 ? upload.parts : upload.parts.slice(0, gap);
	const offset = parts.reduce((sum, { size }) => sum + size, 0);
	return { ...upload, parts, offset, length: await readLength(deps, upload.request) };
}

async function readLength(
	{ store }: Pick<StageDeps, "store">,
	{ tenant, upload_id: id, appends }: UploadRequest,
): Promise<number | null> {
	if (appends === undefined || appends.length !== null) return appends?.length ?? null;
	return (await getJson<{ length: number }>(store, lengthKey(tenant, id)))?.value.length ?? null;
}

/**
 * "If multiple requests include indicators, their indicated values MUST match"
 * (section 4.1.3): `bad_request` for one that doesn't, else it is kept.
 */
export async function recordLength(
	deps: Pick<StageDeps, "store">,
	upload: AppendedUpload,
	length: number,
): Promise<void> {
	const { request, offset } = upload;
	const key = lengthKey(request.tenant, request.upload_id);
	if (length < offset) {
		throw inconsistentLength(`a length of ${length} is announced, ${offset} bytes are there`);
	}
	if (upload.length === null) await putJson(deps.store, key, { length }, { ifAbsent: true });
	const first = upload.length ?? (await readLength(deps, request));
	if (first !== length) {
		throw inconsistentLength(`a length of ${length} is announced, before it was ${first}`);
	}
}

export interface AppendOptions {
	/** Lower-case hex of the whole body: it is kept whole or not at all, as one part. */
	sha256?: string;
	/** Content-Length, where there is one. */
	size?: number;
	/** Told each time that bytes have become durable. */
	onOffset?: (offset: number) => void;
	/** Handed what ends the append from elsewhere; `keeps`: what came of the body is stored before. */
	onStart?: (end: (reason: IngestError, keeps: boolean) => void) => void;
}

export interface AppendResult {
	/** Parts of the upload now. */
	parts: number;
	offset: number;
	/** Why not all of the body is there. */
	brokenOff: IngestError | null;
}

/**
 * `offset_mismatch` (somebody else appended), `too_large`, `bad_request` (more bytes
 * than announced: no load comes of the upload then), `digest_mismatch`,
 * `truncated_stream` (with `sha256` alone: nothing is kept), `upload_completed`,
 * `upload_expired`. What was told durable before the error stays.
 */
export async function appendBody(
	deps: StageDeps,
	upload: AppendedUpload,
	body: ReadableStream<Uint8Array>,
	options: AppendOptions = {},
): Promise<AppendResult> {
	const { store, limits } = deps;
	const { request, length } = upload;
	const { tenant, upload_id: id } = request;
	const source = new ChunkSource(body, (came) => assertRoom(deps, upload, came), {
		keepsWhatCame: options.sha256 === undefined,
	});
	options.onStart?.((reason, keeps) => source.end(reason, keeps));
	let { offset } = upload;
	let parts = upload.parts.length;
	try {
		while (await source.hasMore()) {
			if (parts === limits.maxParts) throw tooManyParts(limits.maxParts);
			const cut =
				options.sha256 === undefined
					? cutPart(deps, request, parts + 1, source, null).stored
					: putWhole(deps, request, parts + 1, source, options.sha256, options.size);
			const part = await cut.then(({ part }) => part);
			if (part === null) {
				const { offset: now } = await readAppended(deps, tenant, id);
				throw offsetMismatch(now, offset);
			}
			if (part.sha256 !== null) {
				await store.put(sumKey(tenant, id, partName(part.n), part.sha256), new Uint8Array(0));
			}
			deps.notices?.part(tenant, id, part);
			parts = part.n;
			offset += part.size;
			options.onOffset?.(offset);
		}
		if (options.sha256 !== undefined && source.total === 0) {
			await measureNothing(deps, options.sha256);
		}
		// A decision that came in between doesn't have these bytes: the caller must know.
		if ((await readManifest(store, tenant, id)) !== null) await readOpenUpload(deps, tenant, id);
		return { parts, offset, brokenOff: source.brokenOff };
	} catch (error) {
		source.cancel(error);
		// "marking the upload resource invalid and rejecting any further interaction with it"
		if (length !== null && upload.offset + source.total > length) {
			await discardUpload(deps, tenant, id);
		}
		throw error;
	}
}

/** Bytes that came, against what was announced and what is taken. */
function assertRoom({ limits }: StageDeps, upload: AppendedUpload, came: number): void {
	const total = upload.offset + came;
	if (upload.length !== null && total > upload.length) {
		throw inconsistentLength(
			`the upload has ${total} bytes or more, ${upload.length} were announced`,
		);
	}
	if (total > limits.maxUploadBytes) {
		throw new IngestError(
			"too_large",
			`the upload has ${total} bytes or more, ${limits.maxUploadBytes} are taken`,
			{ extra: { limit_bytes: limits.maxUploadBytes } },
		);
	}
}

async function putWhole(
	{ store, limits, createSha256 }: StageDeps,
	{ tenant, upload_id: id }: UploadRequest,
	n: number,
	source: ChunkSource,
	sha256: string,
	size: number | undefined,
): Promise<{ part: ManifestPart | null }> {
	const limit = limits.maxPartBytes;
	const all = source.cut(Number.POSITIVE_INFINITY, null, () => {});
	const measured = measureBody(all, createSha256(), {
		sha256,
		onBytes(total) {
			if (total <= limit) return;
			throw new IngestError(
				"too_large",
				`an append with Content-Digest has at most ${limit} bytes: it is kept whole or not at all`,
				{ extra: { limit_bytes: limit } },
			);
		},
	});
	const key = partKey(tenant, id, partName(n));
	const info = await store.put(key, measured.stream, {
		ifAbsent: true,
		...(size === undefined ? {} : { size }),
	});
	const result = await measured.result();
	return { part: info === null ? null : { n, key, etag: info.etag, ...result } };
}

/** A body of no bytes has a digest too. */
async function measureNothing({ createSha256 }: StageDeps, sha256: string): Promise<void> {
	const found = await createSha256().digestHex();
	if (found === sha256) return;
	const detail = `SHA-256 ${sha256} was announced, the 0 bytes have ${found}`;
	throw new IngestError("digest_mismatch", detail);
}

const tooManyParts = (maxParts: number) =>
	new IngestError(
		"too_large",
		`the upload has ${maxParts} parts already, one for each append at least; send more bytes at once`,
		{ extra: { limit_parts: maxParts } },
	);
