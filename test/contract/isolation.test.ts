/**
 * A key reaches its tenant's uploads, loads, tables and history, and nothing else.
 *
 * Property, over random pairs of tenants, every route that takes a key and every
 * way to point at what is another's: the answer is the one that something which
 * isn't there gets, nothing of the victim is in it, and nothing of the victim's
 * has changed in the store.
 */
import { tableFromArrays, tableToIPC } from "apache-arrow";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { routes } from "../../src/upload/routes.ts";
import { type MemoryService, startMemoryService } from "./memory-service.ts";

const tenants = ["acme", "acm", "acme-2", "b", "0"];
/** In column names, so in tables and receipts; nobody but its owner ever says it. */
const marker = (tenant: string) => `secret_of_${tenant.replace("-", "_")}`;
const nobodysId = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
const runs = 1_500;

interface Belongings {
	key: string;
	table: string;
	upload: string;
	load: string;
	idempotencyKey: string;
}

let service: MemoryService;
const belongings = new Map<string, Belongings>();

beforeAll(async () => {
	service = await startMemoryService();
	for (const tenant of tenants) {
		const key = await service.makeKey({
			tenant,
			rights: ["append", "create", "replace", "add_columns", "read", "metrics"],
		});
		const own = {
			key,
			table: `table_of_${tenant.replace("-", "_")}`,
			idempotencyKey: `k-${tenant}`,
		};
		const headers = { Authorization: `Bearer ${key}` };
		const loaded = await fetch(`${service.url}/v1/ingest/${own.table}`, {
			method: "POST",
			headers: { ...headers, "Idempotency-Key": own.idempotencyKey },
			body: arrowOf(tenant),
		});
		const opened = await fetch(`${service.url}/v1/uploads`, {
			method: "POST",
			headers,
			body: new TextEncoder().encode(JSON.stringify({ table: own.table })),
		});
		const { load_id: load } = (await loaded.json()) as { load_id: string };
		const { upload_id: upload } = (await opened.json()) as { upload_id: string };
		const part = await fetch(`${service.url}/v1/uploads/${upload}/parts/1`, {
			method: "PUT",
			headers,
			body: arrowOf(tenant),
		});
		expect([loaded.status, opened.status, part.status]).toEqual([200, 201, 204]);
		belongings.set(tenant, { ...own, load, upload });
	}
});
afterAll(() => service?.stop());

function arrowOf(tenant: string): Uint8Array<ArrayBuffer> {
	const table = tableFromArrays({ [marker(tenant)]: Int32Array.of(1, 2, 3) });
	return new Uint8Array(tableToIPC(table, "stream"));
}

/** Everything of a tenant's in the store, by key and ETag. */
async function storeOf(tenant: string): Promise<string> {
	const lines: string[] = [];
	for await (const { key, etag } of service.store.list("")) {
		if (key.split("/").includes(tenant)) lines.push(`${key} ${etag}`);
	}
	return lines.join("\n");
}

/** Ways to write another's id, tenant first where a path trick needs it. */
const idTricks: ((id: string, victim: string) => string)[] = [
	(id) => id,
	(id) => id.toLowerCase(),
	(id) => `${id}%00`,
	(id) => `${id}%20`,
	(id, victim) => `..%2F${victim}%2F${id}`,
	(id, victim) => `%2e%2e%2f%2e%2e%2fuploads%2f${victim}%2f${id}`,
	(id, victim) => `..%5C${victim}%5C${id}`,
	(id, victim) => `%252e%252e%252f${victim}%252f${id}`,
	(id) => id.replace("0", "%EF%BC%90"), // full-width zero
	(id) => id.replace("1", "l"),
	(id) => `${id}.json`,
	(id) => `${id}%2Fmanifest.json`,
];

const tableTricks: ((table: string, victim: string) => string)[] = [
	(table) => table,
	(table, victim) => `${victim}.${table}`,
	(table, victim) => `${victim}.main.${table}`,
	(table, victim) => `%22${victim}%22.%22main%22.%22${table}%22`,
	(table, victim) => `..%2F${victim}%2Fmain%2F${table}`,
	(table, victim) => `..%2F..%2F${victim}%2Fmain.${table}`,
	(table, victim) => `%22..%2F..%2F${victim}%2Fmain%22.${table}`,
	(table) => `${table}%00`,
	(table) => table.replace("t", "%D1%82"), // Cyrillic т
	(table, victim) => `%22${victim}%22.${table}%22%3B--`,
];

const appendHeaders = {
	"Content-Type": "application/partial-upload",
	"Upload-Offset": "0",
	"Upload-Complete": "?1",
};

const keyed = routes.filter((route) => route.right !== "open" && route.right !== "metrics");

interface Attempt {
	attacker: string;
	victim: string;
	/** Its id. */
	route: string;
	trick: number;
	useLoad: boolean;
}

const routeOf = (attempt: Attempt) => keyed.find((route) => route.id === attempt.route)!;

function requestOf(attempt: Attempt, own: Belongings, id: string, table: string) {
	const { victim, trick } = attempt;
	const route = routeOf(attempt);
	const path = route.path
		.replace("{id}", idTricks[trick % idTricks.length]!(id, victim))
		.replace("{table}", tableTricks[trick % tableTricks.length]!(table, victim))
		.replace("{n}", "1");
	const named = decodeURIComponent(tableTricks[trick % tableTricks.length]!(table, victim));
	const json = {
		createUpload: { table: named, mode: "append" },
		completeUpload: { parts: 1 },
		presignParts: { parts: [{ n: 1, size: 1, sha256: "0".repeat(64) }] },
	}[route.id];
	const query =
		route.id === "listLoads"
			? `?table=${encodeURIComponent(named)}`
			: route.id === "listTables"
				? `?cursor=${encodeURIComponent(`../${victim}/main/`)}`
				: "";
	const bytes = route.method === "PUT" || route.method === "PATCH" ? "other bytes" : undefined;
	const body = json ? JSON.stringify(json) : bytes;
	return {
		url: `${service.url}${path}${query}`,
		init: {
			method: route.method,
			headers: {
				Authorization: `Bearer ${own.key}`,
				"X-Request-Id": "same",
				...(route.id === "ingest" ? { "Idempotency-Key": own.idempotencyKey } : {}),
				...(route.method === "PATCH" ? appendHeaders : {}),
			},
			...(body === undefined ? {} : { body: new TextEncoder().encode(body) }),
		},
	};
}

/** What an answer says once the names that the asker chose are taken out. */
async function told(attempt: Attempt, own: Belongings, id: string, table: string) {
	const { url, init } = requestOf(attempt, own, id, table);
	const answer = await fetch(url, init);
	const text = await answer.text();
	// An id that isn't one can't differ from one that isn't there but by its own text.
	const plain = text
		.replaceAll(/"instance":"[^"]*"/g, "")
		.replaceAll(/[0-7][0-9A-HJKMNP-TV-Z]{25}/g, "ID")
		.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME");
	return { status: answer.status, text, plain };
}

test("of random pairs of tenants, none reaches, sees or changes what is another's", async () => {
	const seen = new Map<string, number>();
	await fc.assert(
		fc.asyncProperty(
			fc.record({
				attacker: fc.constantFrom(...tenants),
				victim: fc.constantFrom(...tenants),
				route: fc.constantFrom(...keyed.map((route) => route.id)),
				trick: fc.nat(59),
				useLoad: fc.boolean(),
			}),
			async (attempt) => {
				fc.pre(attempt.attacker !== attempt.victim);
				const own = belongings.get(attempt.attacker)!;
				const theirs = belongings.get(attempt.victim)!;
				const before = await storeOf(attempt.victim);
				const id = attempt.useLoad ? theirs.load : theirs.upload;
				const answer = await told(attempt, own, id, theirs.table);
				seen.set(attempt.route, (seen.get(attempt.route) ?? 0) + 1);
				expect(answer.status).toBeLessThan(500);
				expect(answer.text).not.toContain(`"${marker(attempt.victim)}"`);
				expect(answer.text).not.toContain(`"tenant":"${attempt.victim}"`);
				expect(await storeOf(attempt.victim)).toBe(before);
				if (routeOf(attempt).path.includes("{id}")) {
					expect(answer.status).toBe(404);
					const absent = await told(attempt, own, nobodysId, theirs.table);
					expect(answer.plain).toBe(absent.plain);
				}
			},
		),
		{ numRuns: runs, seed: 20_261_130 },
	);
	console.log(`isolation: ${runs} attempts over ${seen.size} routes`);
	expect(seen.size).toBe(keyed.length);
}, 120_000);

test("one Idempotency-Key of two tenants is two loads", async () => {
	const [one, two] = [belongings.get("acme")!, belongings.get("b")!];
	const answer = await fetch(`${service.url}/v1/ingest/shared`, {
		method: "POST",
		headers: { Authorization: `Bearer ${two.key}`, "Idempotency-Key": one.idempotencyKey },
		body: arrowOf("b"),
	});
	const receipt = (await answer.json()) as { load_id: string; tenant: string };
	expect(answer.headers.get("idempotency-replayed")).toBeNull();
	expect(receipt.tenant).toBe("b");
	expect(receipt.load_id).not.toBe(one.load);
});

test("history and tables of a tenant are its own alone", async () => {
	for (const tenant of tenants) {
		const headers = { Authorization: `Bearer ${belongings.get(tenant)!.key}` };
		for (const path of ["/v1/loads?limit=1000", "/v1/tables?limit=1000"]) {
			const text = await (await fetch(service.url + path, { headers })).text();
			for (const other of tenants) {
				const quoted = `"${marker(other)}"`;
				if (other !== tenant) expect(text).not.toContain(quoted);
				else if (path.startsWith("/v1/tables")) expect(text).toContain(quoted);
			}
		}
	}
});
