/**
 * A bearer token in, a principal out: who is asking, and what they may do.
 *
 * Order: shape (no look-up for anything else), record (cached), secret (constant
 * time), revoked, expired. Every "no" but the last is the same `unauthenticated`;
 * `key_expired` is told only to someone who has the right secret.
 *
 * Records are cached for `cacheMs`, which is how long a revoked key may still
 * work; that there is no such key is cached too, in a map of its own, so that
 * guessing ids neither reaches the store again and again nor pushes real keys out.
 */
import type { Clock } from "../clock.ts";
import { IngestError } from "../errors.ts";
import type { Log } from "../log.ts";
import type { ObjectStore } from "../stage/object-store.ts";
import { hashSecret, parseKeyToken, type SecretHash, sameHash } from "./key-token.ts";
import { type KeyRecord, readKey, writeLastUsed } from "./keys.ts";
import type { Right } from "./rights.ts";
import { parseTablePattern, type TablePattern } from "./table-patterns.ts";

/** How long a revocation may take to be seen. */
export const keyCacheMs = 30_000;
/** A key's use is written down at most this often. */
const lastUsedEveryMs = 60_000;
const maxCachedKeys = 10_000;
const maxCachedAbsences = 10_000;

export interface Principal {
	keyId: string;
	tenant: string;
	tables: readonly TablePattern[];
	rights: ReadonlySet<Right>;
}

export interface KeyStore {
	/** `authorization` as the header has it, or null. `unauthenticated`, `key_expired`, `store_unavailable`. */
	authenticate(authorization: string | null): Promise<Principal>;
}

interface CachedKey {
	record: KeyRecord;
	principal: Principal;
	readAt: number;
}

export interface KeyStoreOptions {
	store: ObjectStore;
	clock: Clock;
	log: Log;
	cacheMs?: number;
	/** Only this tenant's keys open anything: `DUCKDOCK_SINGLE_TENANT`. */
	singleTenant?: string | null;
	createSha256?: () => SecretHash;
	/** Keeps work alive after the answer where the runtime needs to be told (`waitUntil`). */
	inBackground?: (work: Promise<void>) => void;
}

export function createKeyStore(options: KeyStoreOptions): KeyStore {
	const { store, clock, log, cacheMs = keyCacheMs, singleTenant = null, createSha256 } = options;
	const inBackground = options.inBackground ?? (() => {});
	const present = new Map<string, CachedKey>();
	const absent = new Map<string, number>();
	const reading = new Map<string, Promise<CachedKey | null>>();
	const lastUsed = new Map<string, number>();

	async function find(keyId: string): Promise<CachedKey | null> {
		const now = clock.now();
		const cached = present.get(keyId);
		if (cached && now - cached.readAt < cacheMs) return cached;
		const absentSince = absent.get(keyId);
		if (absentSince !== undefined && now - absentSince < cacheMs) return null;
		let read = reading.get(keyId);
		if (!read) {
			read = readInto(keyId, now).finally(() => reading.delete(keyId));
			reading.set(keyId, read);
		}
		return read;
	}

	async function readInto(keyId: string, readAt: number): Promise<CachedKey | null> {
		const record = await readKey(store, keyId);
		present.delete(keyId);
		absent.delete(keyId);
		if (!record) {
			remember(absent, keyId, readAt, maxCachedAbsences);
			return null;
		}
		const principal: Principal = {
			keyId,
			tenant: record.tenant,
			tables: record.tables.map(parseTablePattern),
			rights: new Set(record.rights),
		};
		const cached = { record, principal, readAt };
		remember(present, keyId, cached, maxCachedKeys);
		return cached;
	}

	function noteUse(keyId: string): void {
		const now = clock.now();
		const before = lastUsed.get(keyId);
		if (before !== undefined && now - before < lastUsedEveryMs) return;
		lastUsed.delete(keyId);
		remember(lastUsed, keyId, now, maxCachedKeys);
		inBackground(
			writeLastUsed(store, keyId, now).catch((error) => {
				log.debug("last use of a key was not written", { key_id: keyId, error: String(error) });
			}),
		);
	}

	return {
		async authenticate(authorization) {
			const token = parseKeyToken(bearerOf(authorization) ?? "");
			if (!token) throw unauthenticated(authorization === null);
			const cached = await find(token.keyId);
			// Hash in every case: an id that is there takes no longer than one that isn't.
			const hash = await hashSecret(token.secret, createSha256);
			if (!sameHash(hash, cached?.record.hash ?? "0".repeat(64)) || !cached) {
				throw unauthenticated(false);
			}
			const { record, principal } = cached;
			if (record.revoked_at !== null) throw unauthenticated(false);
			if (singleTenant !== null && record.tenant !== singleTenant) throw unauthenticated(false);
			if (record.expires_at !== null && clock.now() >= Date.parse(record.expires_at)) {
				throw new IngestError(
					"key_expired",
					`key ${record.key_id} expired at ${record.expires_at}`,
				);
			}
			noteUse(record.key_id);
			return principal;
		},
	};
}

function unauthenticated(missing: boolean): IngestError {
	return new IngestError(
		"unauthenticated",
		missing
			? "no key: send the header Authorization: Bearer dk_…"
			: "the key is not known here, or it was revoked",
	);
}

/** RFC 6750, section 2.1; the scheme's name is case-insensitive (RFC 9110, section 11.1). */
function bearerOf(authorization: string | null): string | null {
	return /^bearer +(\S+) *$/i.exec(authorization ?? "")?.[1] ?? null;
}

/** The oldest entry goes when the map is full. */
function remember<V>(map: Map<string, V>, key: string, value: V, max: number): void {
	if (map.size >= max) map.delete(map.keys().next().value as string);
	map.set(key, value);
}
