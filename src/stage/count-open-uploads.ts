/**
 * How many uploads of a tenant still take parts, up to `most`: one listing that
 * skips from upload to upload, and one look for each one's decision.
 */
import { manifestKey, parseUploadKey, tenantUploadsPrefix, uploadPrefix } from "./object-keys.ts";
import type { ObjectStore } from "./object-store.ts";

export async function countOpenUploads(
	store: ObjectStore,
	tenant: string,
	most: number,
): Promise<number> {
	const prefix = tenantUploadsPrefix(tenant);
	let open = 0;
	let after = prefix;
	while (open < most) {
		const id = await nextUpload(store, prefix, after);
		if (id === null) break;
		// Behind every key of that upload: all of them begin with a small letter.
		after = `${uploadPrefix(tenant, id)}~`;
		if ((await store.head(manifestKey(tenant, id))) === null) open++;
	}
	return open;
}

async function nextUpload(
	store: ObjectStore,
	prefix: string,
	startAfter: string,
): Promise<string | null> {
	for await (const { key } of store.list(prefix, { startAfter })) {
		const upload = parseUploadKey(key);
		if (upload !== null) return upload.id;
	}
	return null;
}
