/** Parts past the Worker, straight into the bucket by the URLs that it signs: R2's S3 API of the local runtime takes them. */
import { createHash } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { arrowNumbers } from "../contract/arrow-bytes.ts";
import { startWorkerService, type WorkerService } from "./worker-service.ts";

let service: WorkerService;
let key: string;
beforeAll(async () => {
	service = await startWorkerService({ directParts: true });
	key = await service.makeKey({ tenant: "acme" });
});
afterAll(() => service?.stop());

const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
async function post(path: string, body: object, headers: Record<string, string> = {}) {
	const answer = await fetch(service.url + path, {
		method: "POST",
		headers: {
			Authorization: `Bearer ${key}`,
			"Content-Type": "application/json",
			...headers,
		},
		body: JSON.stringify(body),
	});
	// biome-ignore lint/suspicious/noExplicitAny: tests look at answers as their callers do
	return { status: answer.status, json: (await answer.json()) as any };
}

async function open(table: string): Promise<string> {
	const opened = await post("/v1/uploads", { table });
	expect(opened.json.parts).toBe("direct");
	return opened.json.upload_id;
}

interface PartUrl {
	n: number;
	url: string;
	headers: Record<string, string>;
}
async function urlsOf(id: string, parts: Uint8Array[]): Promise<PartUrl[]> {
	const wanted = parts.map((bytes, at) => ({
		n: at + 1,
		size: bytes.length,
		sha256: sha256(bytes),
	}));
	const answer = await post(`/v1/uploads/${id}/parts`, { parts: wanted });
	expect(answer.status).toBe(200);
	return answer.json.urls;
}
const put = ({ url, headers }: PartUrl, bytes: Uint8Array<ArrayBuffer>) =>
	fetch(url, { method: "PUT", headers, body: bytes });
const complete = (id: string, parts: number) =>
	post(`/v1/uploads/${id}/complete`, { parts }, { Prefer: "wait=60" });

test("are one load, in any order and sent again", async () => {
	const bytes = arrowNumbers(20_000);
	const parts = [bytes.slice(0, 50_000), bytes.slice(50_000)];
	const id = await open("direct");
	const urls = await urlsOf(id, parts);
	for (const at of [1, 0, 1]) expect((await put(urls[at]!, parts[at]!)).status).toBe(200);
	expect((await complete(id, 2)).json).toMatchObject({
		status: "committed",
		rows_inserted: 20_000,
		parts: 2,
		repr_digest: `sha-256=:${Buffer.from(sha256(bytes), "hex").toString("base64")}:`,
	});
	expect((await post(`/v1/uploads/${id}/parts`, { parts: [] })).json.code).toBe("bad_request");
});

test("with other bytes than were announced load nothing", async () => {
	const bytes = arrowNumbers(100);
	const id = await open("other");
	const [url] = await urlsOf(id, [bytes]);
	const wrong = bytes.slice();
	wrong[wrong.length - 9]! ^= 1;
	const stored = await put(url!, wrong);
	// Where the server doesn't hold the caller to the digest, the loader does.
	expect((await complete(id, 1)).json.code).toBe(stored.ok ? "digest_mismatch" : "missing_parts");
});

test("of another length, another time or another key are not taken", async () => {
	const bytes = arrowNumbers(100);
	const id = await open("refused");
	const [part] = await urlsOf(id, [bytes]);
	const longer = new Uint8Array(bytes.length + 8);
	longer.set(bytes);
	const refused = await put({ ...part!, headers: {} }, longer);
	const elsewhere = part!.url.replace(/parts%2F|parts\//, "parts/x");
	expect((await put({ ...part!, url: elsewhere }, bytes)).status).toBe(403);
	const later = part!.url.replace(/X-Amz-Expires=\d+/, "X-Amz-Expires=86400");
	expect((await put({ ...part!, url: later }, bytes)).status).toBe(403);
	expect(refused.status).toBe(403);
	expect((await complete(id, 1)).json.code).toBe("missing_parts");
});
