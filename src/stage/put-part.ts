/**
 * One part of an upload: bytes in, `parts/{n}` and what was seen of them out.
 *
 * Order: the upload still takes parts > the object, under a key that nothing has
 * > its sum > only then the answer. Bytes sent again go to a key of a higher
 * generation: a manifest that is being written never sees its parts change.
 */

import { IngestError } from "../errors.ts";
import { measureBody } from "./measure-body.ts";
import { partKey, partName, partsPrefix, repeatedPartName, sumKey } from "./object-keys.ts";
import { listParts, readManifest, readOpenUpload, type StageDeps } from "./stage-upload.ts";

export interface PartOptions {
	/** Content-Length, where there is one. */
	size?: number;
	/** Lower-case hex of what the caller says; other bytes are `digest_mismatch`. */
	sha256?: string;
	signal?: AbortSignal;
}

export interface StoredPart {
	n: number;
	size: number;
	/** Lower-case hex. */
	sha256: string;
}

/**
 * `upload_not_found`, `upload_completed`, `upload_expired`, `bad_request` (n),
 * `too_large`, `truncated_stream`, `digest_mismatch`: in each case no object is left.
 */
export async function putPart(
	deps: StageDeps,
	tenant: string,
	id: string,
	n: number,
	body: ReadableStream<Uint8Array>,
	options: PartOptions = {},
): Promise<StoredPart> {
	const { store, limits } = deps;
	if (!Number.isInteger(n) || n < 1 || n > limits.maxParts) {
		throw new IngestError("bad_request", `a part's number is 1 to ${limits.maxParts}, not ${n}`);
	}
	if (options.size !== undefined && options.size > limits.maxPartBytes) {
		throw tooLarge(n, options.size, limits.maxPartBytes);
	}
	await readOpenUpload(deps, tenant, id);
	await deps.uploadSizes?.assertFits({
		uploadId: id,
		size: options.size ?? 0,
		limit: limits.maxUploadBytes,
		countOthers: () => sizeOfOthers(deps, tenant, id, n),
	});
	const first = partKey(tenant, id, partName(n));
	const name =
		(await store.head(first)) === null ? partName(n) : await nextName(deps, tenant, id, n);
	const measured = measureBody(body, deps.createSha256(), {
		...options,
		onBytes: (total) => {
			if (total > limits.maxPartBytes) throw tooLarge(n, total, limits.maxPartBytes);
		},
	});
	const key = partKey(tenant, id, name);
	const stored = await store.put(key, measured.stream, {
		ifAbsent: true,
		...(options.size === undefined ? {} : { size: options.size }),
		...(options.signal === undefined ? {} : { signal: options.signal }),
	});
	const { size, sha256 } = await measured.result();
	if (stored === null) await assertSameBytes(deps, tenant, id, n, sha256);
	else {
		await store.put(sumKey(tenant, id, name, sha256), new Uint8Array(0));
		deps.notices?.part(tenant, id, { n, key, size, etag: stored.etag, sha256 });
	}
	deps.uploadSizes?.add(id, size);
	// A complete that came in between doesn't have these bytes: the caller must know.
	if ((await readManifest(store, tenant, id)) !== null) await readOpenUpload(deps, tenant, id);
	return { n, size, sha256 };
}

async function sizeOfOthers(
	{ store }: StageDeps,
	tenant: string,
	id: string,
	n: number,
): Promise<number> {
	const others = (await listParts(store, tenant, id)).filter((part) => part.n !== n);
	return others.reduce((sum, { size }) => sum + size, 0);
}

/** Above every generation that is there. */
async function nextName(
	{ store, newId }: StageDeps,
	tenant: string,
	id: string,
	n: number,
): Promise<string> {
	let generation = 0;
	for await (const _ of store.list(`${partsPrefix(tenant, id)}${partName(n)}`)) generation++;
	return repeatedPartName(n, generation, newId());
}

/** Two requests wrote part n's first bytes at one moment. Equal ones are both right; else the loser sends again. */
async function assertSameBytes(
	{ store }: StageDeps,
	tenant: string,
	id: string,
	n: number,
	sha256: string,
): Promise<void> {
	const winner = (await listParts(store, tenant, id)).find((part) => part.n === n);
	if (winner?.sha256 === sha256) return;
	throw new IngestError(
		"store_unavailable",
		`another request wrote part ${n} at the same moment; send it again`,
		{ retryAfterSeconds: 1 },
	);
}

const tooLarge = (n: number, size: number, limit: number) =>
	new IngestError("too_large", `part ${n} has ${size} bytes or more, a part takes ${limit}`, {
		extra: { limit_bytes: limit },
	});
