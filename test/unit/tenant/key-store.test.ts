import { expect, test } from "vitest";
import type { Clock } from "../../../src/clock.ts";
import { createLog, silentLog } from "../../../src/log.ts";
import type { ObjectStore } from "../../../src/stage/object-store.ts";
import { createMemoryStore } from "../../../src/stage/stores/memory-store.ts";
import { createKeyStore, keyCacheMs } from "../../../src/tenant/key-store.ts";
import { parseKeyToken, randomKeyToken } from "../../../src/tenant/key-token.ts";
import { createKey, listKeys, revokeKey } from "../../../src/tenant/keys.ts";

function setUp() {
	let now = Date.UTC(2026, 0, 1);
	const clock: Clock = { now: () => now, sleep: () => Promise.resolve() };
	const memory = createMemoryStore({ now: () => now });
	const reads: string[] = [];
	const store: ObjectStore = {
		...memory,
		get: (key, options) => {
			reads.push(key);
			return memory.get(key, options);
		},
	};
	const background: Promise<void>[] = [];
	const keyStore = (options: { singleTenant?: string } = {}) =>
		createKeyStore({
			store,
			clock,
			log: silentLog,
			inBackground: (work) => background.push(work),
			...options,
		});
	return { clock, store, reads, background, keyStore, pass: (ms: number) => (now += ms) };
}

const codeOf = (work: Promise<unknown>) =>
	work.then(
		() => "fine",
		(error) => error.code,
	);

test("a key opens what it was made for", async () => {
	const { store, clock, keyStore } = setUp();
	const created = await createKey(store, clock, {
		tenant: "acme",
		tables: ["raw.*"],
		rights: ["append", "read"],
		expiresInMs: 1000,
	});
	expect(created).toMatchObject({ tenant: "acme", tables: ["raw.*"], modes: ["append", "read"] });
	expect(created.expires_at).toBe("2026-01-01T00:00:01.000Z");
	expect(created.key).toMatch(/^dk_[a-z2-7]{16}_[a-z2-7]{52}$/);
	const principal = await keyStore().authenticate(`Bearer ${created.key}`);
	expect(principal.tenant).toBe("acme");
	expect([...principal.rights]).toEqual(["append", "read"]);
	expect(principal.tables).toEqual([{ schema: ["raw"], table: ["", ""] }]);
});

test("a key without further words holds all tables, append, create and read", async () => {
	const { store, clock } = setUp();
	const created = await createKey(store, clock, { tenant: "acme" });
	expect(created).toMatchObject({
		tables: ["*.*"],
		modes: ["append", "create", "read"],
		expires_at: null,
	});
});

test("the store holds a hash and never the secret", async () => {
	const { store, clock } = setUp();
	const { key, key_id } = await createKey(store, clock, { tenant: "acme" });
	const stored = await store.get(`keys/${key_id}.json`);
	const text = await new Response(stored!.body as ReadableStream<Uint8Array<ArrayBuffer>>).text();
	expect(text).not.toContain(parseKeyToken(key)!.secret);
	expect(text).toMatch(/"hash":"[0-9a-f]{64}"/);
});

test.each([
	null,
	"",
	"Bearer",
	"Bearer x",
	"Basic abc",
	`Bearer dk_${"a".repeat(16)}_${"a".repeat(51)}`,
	`Bearer dk_${"a".repeat(16)}_${"a".repeat(51)}1`,
	`Bearer dk_../../keys/xxxxx_${"a".repeat(52)}`,
	`Bearer dk_${"A".repeat(16)}_${"a".repeat(52)}`,
	`dk_${"a".repeat(16)}_${"a".repeat(52)}`,
])("a token of another shape (%j) is unauthenticated without a look-up", async (header) => {
	const { reads, keyStore } = setUp();
	expect(await codeOf(keyStore().authenticate(header))).toBe("unauthenticated");
	expect(reads).toEqual([]);
});

test("the wrong secret, an unknown id and a revoked key are one answer", async () => {
	const { store, clock, keyStore } = setUp();
	const { key, key_id } = await createKey(store, clock, { tenant: "acme" });
	const revoked = await createKey(store, clock, { tenant: "acme" });
	expect(await revokeKey(store, clock, revoked.key_id)).toBe(true);
	const other = randomKeyToken();
	const answers = [];
	for (const token of [
		`dk_${key_id}_${other.secret}`,
		`dk_${other.keyId}_${other.secret}`,
		revoked.key,
	]) {
		answers.push(
			await keyStore()
				.authenticate(`Bearer ${token}`)
				.catch((error) => `${error.code} ${error.message}`),
		);
	}
	expect(new Set(answers).size).toBe(1);
	expect(answers[0]).toMatch(/^unauthenticated/);
	expect(await codeOf(keyStore().authenticate(`bearer  ${key}`))).toBe("fine");
});

test("key_expired is told to the holder of the secret alone", async () => {
	const { store, clock, keyStore, pass } = setUp();
	const { key, key_id } = await createKey(store, clock, { tenant: "acme", expiresInMs: 1000 });
	const keys = keyStore();
	expect(await codeOf(keys.authenticate(`Bearer ${key}`))).toBe("fine");
	pass(1000);
	expect(await codeOf(keys.authenticate(`Bearer ${key}`))).toBe("key_expired");
	const guess = `Bearer dk_${key_id}_${randomKeyToken().secret}`;
	expect(await codeOf(keys.authenticate(guess))).toBe("unauthenticated");
});

test("a revocation takes effect within the cache's time", async () => {
	const { store, clock, keyStore, pass } = setUp();
	const { key, key_id } = await createKey(store, clock, { tenant: "acme" });
	const keys = keyStore();
	expect(await codeOf(keys.authenticate(`Bearer ${key}`))).toBe("fine");
	await revokeKey(store, clock, key_id);
	pass(keyCacheMs - 1);
	expect(await codeOf(keys.authenticate(`Bearer ${key}`))).toBe("fine");
	pass(1);
	expect(await codeOf(keys.authenticate(`Bearer ${key}`))).toBe("unauthenticated");
});

test("a key is looked up once in the cache's time, also one that isn't there", async () => {
	const { store, clock, reads, keyStore } = setUp();
	const { key } = await createKey(store, clock, { tenant: "acme" });
	const other = randomKeyToken();
	const keys = keyStore();
	const ask = (token: string) => codeOf(keys.authenticate(`Bearer ${token}`));
	const missing = `dk_${other.keyId}_${other.secret}`;
	await Promise.all([ask(key), ask(key), ask(missing), ask(missing)]);
	await Promise.all([ask(key), ask(missing)]);
	expect(reads).toHaveLength(2);
});

test("guessed ids push no real key out of the cache", async () => {
	const { store, clock, reads, keyStore } = setUp();
	const { key, key_id } = await createKey(store, clock, { tenant: "acme" });
	const keys = keyStore();
	await keys.authenticate(`Bearer ${key}`);
	for (let at = 0; at < 10_100; at++) {
		const guess = at.toString(2).padStart(16, "0").replaceAll("0", "a").replaceAll("1", "b");
		await codeOf(keys.authenticate(`Bearer dk_${guess}_${"a".repeat(52)}`));
	}
	await keys.authenticate(`Bearer ${key}`);
	expect(reads.filter((name) => name === `keys/${key_id}.json`)).toHaveLength(1);
});

test("two keys of one tenant live at once, and each is revoked alone", async () => {
	const { store, clock, keyStore } = setUp();
	const one = await createKey(store, clock, { tenant: "acme" });
	const two = await createKey(store, clock, { tenant: "acme" });
	await revokeKey(store, clock, one.key_id);
	await revokeKey(store, clock, one.key_id);
	expect(await codeOf(keyStore().authenticate(`Bearer ${one.key}`))).toBe("unauthenticated");
	expect(await codeOf(keyStore().authenticate(`Bearer ${two.key}`))).toBe("fine");
	expect(await revokeKey(store, clock, "a".repeat(16))).toBe(false);
	expect(await revokeKey(store, clock, "../x")).toBe(false);
});

test("the list shows when a key was last used and no hash", async () => {
	const { store, clock, keyStore, background, pass } = setUp();
	const { key, key_id } = await createKey(store, clock, { tenant: "acme" });
	await createKey(store, clock, { tenant: "other" });
	const keys = keyStore();
	await keys.authenticate(`Bearer ${key}`);
	pass(59_999);
	await keys.authenticate(`Bearer ${key}`);
	expect(background).toHaveLength(1);
	await Promise.all(background);
	const list = await listKeys(store);
	expect(list).toHaveLength(2);
	expect(JSON.stringify(list)).not.toContain("hash");
	expect(list.find((one) => one.key_id === key_id)?.last_used_at).toBe("2026-01-01T00:00:00.000Z");
	expect(await listKeys(store, { tenant: "other" })).toMatchObject([{ last_used_at: null }]);
});

test("where one tenant is served, another's key opens nothing", async () => {
	const { store, clock, keyStore } = setUp();
	const { key } = await createKey(store, clock, { tenant: "acme" });
	const keys = keyStore({ singleTenant: "other" });
	expect(await codeOf(keys.authenticate(`Bearer ${key}`))).toBe("unauthenticated");
});

test("no key is made for what is no tenant, no pattern, no right", async () => {
	const { store, clock } = setUp();
	const make = (options: Parameters<typeof createKey>[2]) =>
		codeOf(createKey(store, clock, options));
	expect(await make({ tenant: "../x" })).toBe("bad_request");
	expect(await make({ tenant: "acme", tables: ["a", ""] })).toBe("bad_request");
	expect(await make({ tenant: "acme", tables: [] })).toBe("bad_request");
	expect(await make({ tenant: "acme", rights: [] })).toBe("bad_request");
});

test("a key's record that was tampered with opens nothing", async () => {
	const { store, clock, keyStore } = setUp();
	const { key, key_id } = await createKey(store, clock, { tenant: "acme" });
	const text = new TextEncoder().encode('{"hash":"x","tenant":"../up"}');
	await store.put(`keys/${key_id}.json`, text);
	expect(await codeOf(keyStore().authenticate(`Bearer ${key}`))).toBe("unauthenticated");
});

test("no log line holds a secret", async () => {
	const { store, clock } = setUp();
	const lines: string[] = [];
	const { key } = await createKey(store, clock, { tenant: "acme" });
	const failing: ObjectStore = { ...store, put: () => Promise.reject(new Error("no")) };
	const background: Promise<void>[] = [];
	const keys = createKeyStore({
		store: failing,
		clock,
		log: createLog("debug", (line) => lines.push(line)),
		inBackground: (work) => background.push(work),
	});
	await keys.authenticate(`Bearer ${key}`);
	await Promise.all(background);
	expect(lines).toHaveLength(1);
	expect(lines.join()).not.toContain(parseKeyToken(key)!.secret);
});
