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
	const generations = await countGenerations(deps, tenant, id);
	const urls: PartUrl[] = [];
	for (let at = 0; at < wanted.length; at += sumsAtOnce) {
		const some = wanted.slice(at, at + sumsAtOnce).map(async ({ n, size, sha256 }) => {
			const name = repeatedPartName(n, generations.get(n) ?? 0, newId());
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

/** For each part above every generation that is there. */
async function countGenerations(
	{ store }: StageDeps,
	tenant: string,
	id: string,
): Promise<Map<number, number>> {
	const next = new Map<number, number>();
	const prefix = partsPrefix(tenant, id);
	for await (const { key } of store.list(prefix)) {
		const parsed = parsePartName(key.slice(prefix.length));
		if (parsed === null) continue;
		next.set(parsed.n, Math.max(next.get(parsed.n) ?? 0, parsed.generation + 1));
	}
	return next;
}
