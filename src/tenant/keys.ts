/**
 * Keys at rest: `keys/{keyid}.json` in the object store, so that every runtime
 * reads the same. Made, listed and revoked here, by whoever holds the store;
 * there is no route for it. When a key was last used stands beside it, in
 * `keys/{keyid}/last-used.json`, so that using a key never races with revoking it.
 */
import * as z from "zod";
import type { Clock } from "../clock.ts";
import { IngestError } from "../errors.ts";
import type { ObjectStore } from "../stage/object-store.ts";
import { formatKeyToken, hashSecret, isKeyId, randomKeyToken } from "./key-token.ts";
import { defaultRights, type Right, rightSchema } from "./rights.ts";
import { allTables, parseTablePattern } from "./table-patterns.ts";
import { assertTenantName, isTenantName } from "./tenant-name.ts";

export const keyRecordSchema = z.object({
	key_id: z.string().refine(isKeyId),
	/** SHA-256 of the secret, lower-case hex. */
	hash: z.string().regex(/^[0-9a-f]{64}$/),
	tenant: z.string().refine(isTenantName),
	/** Table patterns, as given. */
	tables: z.array(z.string()),
	rights: z.array(rightSchema),
	created_at: z.iso.datetime(),
	expires_at: z.iso.datetime().nullable(),
	revoked_at: z.iso.datetime().nullable(),
});
export type KeyRecord = z.infer<typeof keyRecordSchema>;

/** What `keys list` shows: everything but the hash. */
export interface KeyDescription extends Omit<KeyRecord, "hash"> {
	/** To the minute, best effort; null: not seen yet. */
	last_used_at: string | null;
}

export interface CreatedKey {
	key_id: string;
	/** The only time that the secret is seen. */
	key: string;
	tenant: string;
	tables: string[];
	modes: Right[];
	expires_at: string | null;
}

/** `bad_request` for a tenant or a pattern that is none. Several keys of one tenant may live at once. */
export async function createKey(
	store: ObjectStore,
	clock: Clock,
	options: {
		tenant: string;
		tables?: readonly string[];
		rights?: readonly Right[];
		/** From now; null: never. */
		expiresInMs?: number | null;
	},
): Promise<CreatedKey> {
	const tenant = assertTenantName(options.tenant);
	const tables = [...(options.tables ?? [allTables])];
	for (const pattern of tables) parseTablePattern(pattern);
	const rights = [...(options.rights ?? defaultRights)];
	if (tables.length === 0) throw new IngestError("bad_request", "a key of no table opens nothing");
	if (rights.length === 0) throw new IngestError("bad_request", "a key of no right opens nothing");
	const token = randomKeyToken();
	const now = clock.now();
	const record: KeyRecord = {
		key_id: token.keyId,
		hash: await hashSecret(token.secret),
		tenant,
		tables,
		rights,
		created_at: new Date(now).toISOString(),
		expires_at:
			options.expiresInMs == null ? null : new Date(now + options.expiresInMs).toISOString(),
		revoked_at: null,
	};
	const written = await store.put(recordKey(token.keyId), encode(record), { ifAbsent: true });
	if (!written) throw new IngestError("internal", `key id ${token.keyId} was drawn twice`);
	return {
		key_id: token.keyId,
		key: formatKeyToken(token),
		tenant,
		tables,
		modes: rights,
		expires_at: record.expires_at,
	};
}

/** Every key, by id; of one tenant where that is asked for. Records that are no records are left out. */
export async function listKeys(
	store: ObjectStore,
	options: { tenant?: string } = {},
): Promise<KeyDescription[]> {
	const found: KeyDescription[] = [];
	for await (const info of store.list("keys/")) {
		const keyId = /^keys\/([a-z2-7]{16})\.json$/.exec(info.key)?.[1];
		if (!keyId) continue;
		const record = await readKey(store, keyId);
		if (!record || (options.tenant !== undefined && record.tenant !== options.tenant)) continue;
		const { hash: _, ...shown } = record;
		found.push({ ...shown, last_used_at: await readLastUsed(store, keyId) });
	}
	return found;
}

/** From now on, and everywhere once the caches' time is over. False: there is no such key. Again: fine. */
export async function revokeKey(store: ObjectStore, clock: Clock, keyId: string): Promise<boolean> {
	if (!isKeyId(keyId)) return false;
	for (;;) {
		const object = await store.get(recordKey(keyId));
		if (!object) return false;
		const record = decode(keyId, await bytesOf(object.body));
		if (!record) throw new IngestError("internal", `keys/${keyId}.json is not a key record`);
		if (record.revoked_at) return true;
		const revoked = { ...record, revoked_at: new Date(clock.now()).toISOString() };
		const options = { ifMatch: object.info.etag };
		if (await store.put(recordKey(keyId), encode(revoked), options)) return true;
	}
}

/** Null: no such key, or an object that is no record of it. */
export async function readKey(store: ObjectStore, keyId: string): Promise<KeyRecord | null> {
	const object = await store.get(recordKey(keyId));
	return object ? decode(keyId, await bytesOf(object.body)) : null;
}

export async function writeLastUsed(store: ObjectStore, keyId: string, at: number): Promise<void> {
	await store.put(lastUsedKey(keyId), encode({ last_used_at: new Date(at).toISOString() }));
}

async function readLastUsed(store: ObjectStore, keyId: string): Promise<string | null> {
	const object = await store.get(lastUsedKey(keyId));
	if (!object) return null;
	const parsed = lastUsedSchema.safeParse(parseJson(await bytesOf(object.body)));
	return parsed.success ? parsed.data.last_used_at : null;
}

const lastUsedSchema = z.object({ last_used_at: z.iso.datetime() });

const recordKey = (keyId: string) => `keys/${keyId}.json`;
const lastUsedKey = (keyId: string) => `keys/${keyId}/last-used.json`;

const encode = (value: unknown) => new TextEncoder().encode(`${JSON.stringify(value)}\n`);

function decode(keyId: string, bytes: Uint8Array): KeyRecord | null {
	const parsed = keyRecordSchema.safeParse(parseJson(bytes));
	return parsed.success && parsed.data.key_id === keyId ? parsed.data : null;
}

function parseJson(bytes: Uint8Array): unknown {
	try {
		return JSON.parse(new TextDecoder().decode(bytes));
	} catch {
		return null;
	}
}

async function bytesOf(body: ReadableStream<Uint8Array>): Promise<Uint8Array> {
	return new Uint8Array(
		await new Response(body as ReadableStream<Uint8Array<ArrayBuffer>>).arrayBuffer(),
	);
}
