/**
 * Parts that go straight to the store: sizes and digests in, URLs out.
 *
 * Each URL writes an object of its own, so bytes of an earlier URL for the same
 * part never replace those of a later one, nor what a manifest names. What the
 * caller says of the bytes is written down first, as it is of bytes that we see
 * (`sums/`): the loader holds the bytes to it.
 */
import { IngestError } from "../errors.ts";
import { parsePartName, partKey, partsPrefix, repeatedPartName, sumKey } from "./object-keys.ts";
import { readOpenUpload, type StageDeps } from "./stage-upload.ts";
import { uploadTooLarge } from "./upload-sizes.ts";

export interface WantedPart {
	n: number;
	size: number;
	/** Lower-case hex. */
	sha256: string;
}

export interface PartUrl {
	n: number;
	url: string;
	/** To be sent with the PUT, as they are. */
	headers: Record<string, string>;
	expires_at: string;
}

/** A caller may be slow, or wait for its turn. */
const urlSeconds = 3_600;
const sumsAtOnce = 16;

/**
 * `upload_not_found`, `upload_completed`, `upload_expired`, `bad_request` (a number
 * that is none, or twice the same), `too_large`.
 */
export async function presignParts(
	deps: StageDeps,
	tenant: string,
	id: string,
	wanted: readonly WantedPart[],
): Promise<PartUrl[]> {
	const { store, limits, clock, newId } = deps;
	if (!store.presignPut) throw new IngestError("internal", "the store hands out no URLs");
	assertWanted(wanted, limits);
	const upload = await readOpenUpload(deps, tenant, id);
	const left = Math.floor((Date.parse(upload.expires_at) - clock.now()) / 1000);
	const expiresInSeconds = Math.max(1, Math.min(urlSeconds, left));
	const present = await lookAtParts(deps, tenant, id);
	assertSum(present, wanted, limits.maxUploadBytes);
	const urls: PartUrl[] = [];
	for (let at = 0; at < wanted.length; at += sumsAtOnce) {
		const some = wanted.slice(at, at + sumsAtOnce).map(async ({ n, size, sha256 }) => {
			const name = repeatedPartName(n, present.get(n)?.generation ?? 0, newId());
			await store.put(sumKey(tenant, id, name, sha256), new Uint8Array(0));
			const options = { size, sha256, expiresInSeconds };
			const { url, headers } = await store.presignPut!(partKey(tenant, id, name), options);
			const expires = new Date(clock.now() + expiresInSeconds * 1000);
			return { n, url, headers, expires_at: expires.toISOString() };
		});
		urls.push(...(await Promise.all(some)));
	}
	return urls;
}

function assertWanted(wanted: readonly WantedPart[], limits: StageDeps["limits"]): void {
	const seen = new Set<number>();
	for (const { n, size } of wanted) {
		if (n < 1 || n > limits.maxParts) {
			throw new IngestError("bad_request", `a part's number is 1 to ${limits.maxParts}, not ${n}`);
		}
		if (seen.has(n)) throw new IngestError("bad_request", `part ${n} is asked for twice`);
		seen.add(n);
		if (size > limits.maxPartBytes) {
			throw new IngestError(
				"too_large",
				`part ${n} has ${size} bytes, a part takes ${limits.maxPartBytes}`,
				{ extra: { limit_bytes: limits.maxPartBytes } },
			);
		}
	}
}

/** With the parts that are there and aren't sent anew. */
function assertSum(
	present: ReadonlyMap<number, { size: number }>,
	wanted: readonly WantedPart[],
	limit: number,
): void {
	const sizes = new Map([...present].map(([n, { size }]) => [n, size]));
	for (const { n, size } of wanted) sizes.set(n, size);
	const sum = [...sizes.values()].reduce((all, size) => all + size, 0);
	if (sum > limit) throw uploadTooLarge(sum, limit);
}

/** For each part that is there the next free generation, and the bytes of its last one. */
async function lookAtParts(
	{ store }: StageDeps,
	tenant: string,
	id: string,
): Promise<Map<number, { generation: number; size: number }>> {
	const found = new Map<number, { generation: number; size: number }>();
	const prefix = partsPrefix(tenant, id);
	// A listing is ascending: of the objects of one part the last one stands.
	for await (const { key, size } of store.list(prefix)) {
		const parsed = parsePartName(key.slice(prefix.length));
		if (parsed !== null) found.set(parsed.n, { generation: parsed.generation + 1, size });
	}
	return found;
}
