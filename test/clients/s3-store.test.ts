/** The laws of the store, and S3's own ways to go wrong, on a real S3 server. */
import { createHash, randomBytes } from "node:crypto";
import { HeadObjectCommand, ListMultipartUploadsCommand, S3Client } from "@aws-sdk/client-s3";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ObjectStore } from "../../src/stage/object-store.ts";
import { createPresignPut } from "../../src/stage/stores/presign-put.ts";
import { createS3Store } from "../../src/stage/stores/s3-store.ts";
import { bytesOf, describeObjectStore, oddKeys, streamOf } from "../contract/object-store.ts";
import { type S3Server, startSeaweedfs } from "./servers/seaweedfs.ts";

let server: S3Server;
let stores = 0;
beforeAll(async () => {
	server = await startSeaweedfs();
});
afterAll(async () => {
	await server?.stop();
});

function newStore(): ObjectStore {
	const { client, bucket, endpoint } = server;
	return createS3Store({
		client,
		bucket,
		prefix: `store-${++stores}/`,
		presignPut: createPresignPut({
			credentials: async () => client.config.credentials(),
			region: "us-east-1",
			bucketUrl: `${endpoint}/${bucket}`,
		}),
	});
}

describeObjectStore("S3", {
	open: async () => newStore(),
	pageSize: 1000,
	exceptions: {
		"a listing is ascending by UTF-8 bytes, past page borders, from any start":
			"SeaweedFS lists a folder before the objects whose names begin with its own",
		"odd keys are objects of their own":
			"SeaweedFS keeps objects in a tree of folders: a key cannot be an object and a folder of others",
		"keys that look like paths are objects of their own":
			"HTTP clients and servers fold `.` and `..` in paths; our own keys never hold such segments",
	},
});

const MiB = 1024 * 1024;

describe("the S3 store", () => {
	it("sends a body over one piece as a multipart upload that arrives as it was", async () => {
		const store = newStore();
		const bytes = randomBytes(20 * MiB + 17);
		const chunks = Array.from({ length: 41 }, (_, at) =>
			bytes.subarray(at * 512 * 1024, (at + 1) * 512 * 1024),
		);
		const sha256 = createHash("sha256").update(bytes).digest("hex");
		const info = await store.put("m/big", streamOf(...chunks), { sha256 });
		expect(info?.size).toBe(bytes.length);
		expect(Buffer.compare(await bytesOf(store, "m/big"), bytes)).toBe(0);
		const range = await bytesOf(store, "m/big", { range: { offset: 8 * MiB - 3, length: 6 } });
		expect(Buffer.compare(range, bytes.subarray(8 * MiB - 3, 8 * MiB + 3))).toBe(0);
		expect(await bytesOf(store, "m/big", { ifMatch: info!.etag })).toHaveLength(bytes.length);
	});

	it("leaves neither object nor unfinished upload where a long body fails", async () => {
		const store = newStore();
		const half = streamOf(new Uint8Array(18 * MiB), new Error("cut"));
		await expect(store.put("m/cut", half)).rejects.toThrow("cut");
		const wrong = store.put("m/wrong", streamOf(new Uint8Array(18 * MiB)), {
			sha256: "0".repeat(64),
		});
		await expect(wrong).rejects.toMatchObject({ code: "digest_mismatch" });
		expect(await store.head("m/cut")).toBeNull();
		expect(await store.head("m/wrong")).toBeNull();
		const open = await server.client.send(
			new ListMultipartUploadsCommand({ Bucket: server.bucket, Prefix: `store-${stores}/` }),
		);
		expect(open.Uploads ?? []).toEqual([]);
	});

	it("keeps odd keys apart, but for those that would be object and folder at once", async () => {
		const store = newStore();
		const keys = oddKeys.filter(
			(key) => key !== "odd/a/b" && key.split("/").every((name) => Buffer.byteLength(name) <= 255),
		);
		for (const key of keys) await store.put(key, new TextEncoder().encode(key));
		for (const key of keys) {
			expect(new TextDecoder().decode(await bytesOf(store, key)), key).toBe(key);
		}
	});

	it("lists a folder of more than a page in order, from any start", async () => {
		const store = newStore();
		const keys = Array.from({ length: 1_205 }, (_, at) => `l/${String(at).padStart(5, "0")}`);
		for (let at = 0; at < keys.length; at += 50) {
			await Promise.all(keys.slice(at, at + 50).map((key) => store.put(key, new Uint8Array(1))));
		}
		const listed = async (startAfter?: string) => {
			const found: string[] = [];
			const options = startAfter === undefined ? {} : { startAfter };
			for await (const { key } of store.list("l/", options)) found.push(key);
			return found;
		};
		expect(await listed()).toEqual(keys);
		expect(await listed(keys[1_100])).toEqual(keys.slice(1_101));
	});

	it("creates a long object only where none is", async () => {
		const store = newStore();
		const long = () => streamOf(new Uint8Array(9 * MiB));
		expect(await store.put("m/once", long(), { ifAbsent: true })).not.toBeNull();
		expect(await store.put("m/once", long(), { ifAbsent: true })).toBeNull();
	});

	it("takes a part by a signed URL, and nothing longer or without its signature", async () => {
		const store = newStore();
		const bytes = randomBytes(100_000);
		const sha256 = createHash("sha256").update(bytes).digest("hex");
		const { url, headers } = await store.presignPut!("u/a b+ü=1", {
			size: bytes.length,
			sha256,
			expiresInSeconds: 60,
		});
		const put = (target: string, body: Uint8Array<ArrayBuffer>) => {
			const { "content-length": _, ...sent } = headers;
			return fetch(target, { method: "PUT", headers: sent, body });
		};
		expect((await put(url, new Uint8Array(bytes.length + 1))).ok).toBe(false);
		expect((await put(url.replace(/Signature=./, "Signature=x"), new Uint8Array(bytes))).ok).toBe(
			false,
		);
		expect((await put(url, new Uint8Array(bytes))).status).toBe(200);
		expect(Buffer.compare(await bytesOf(store, "u/a b+ü=1"), bytes)).toBe(0);
	});

	it("tells a refusal that lasts from a server that is away", async () => {
		const refused = createS3Store({
			client: new S3Client({
				endpoint: server.endpoint,
				region: "us-east-1",
				forcePathStyle: true,
				credentials: { accessKeyId: "AKIADUCKDOCKTEST", secretAccessKey: "wrong" },
			}),
			bucket: server.bucket,
		});
		await expect(refused.put("x", new Uint8Array(1))).rejects.toMatchObject({ code: "internal" });
		const away = createS3Store({
			client: new S3Client({
				endpoint: "http://127.0.0.1:9",
				region: "us-east-1",
				forcePathStyle: true,
				maxAttempts: 1,
				credentials: { accessKeyId: "a", secretAccessKey: "b" },
			}),
			bucket: server.bucket,
		});
		for (const work of [
			() => away.put("x", new Uint8Array(1)),
			() => away.get("x"),
			() => away.head("x"),
		]) {
			await expect(work()).rejects.toMatchObject({ code: "store_unavailable" });
		}
		const nowhere = createS3Store({ client: server.client, bucket: "no-such-bucket" });
		await expect(nowhere.get("x")).rejects.toMatchObject({ code: "internal" });
	});

	it("keeps the CRC32 that the server held the bytes to", async () => {
		const store = newStore();
		await store.put("c/x", new TextEncoder().encode("123456789"));
		const head = await server.client.send(
			new HeadObjectCommand({
				Bucket: server.bucket,
				Key: `store-${stores}/c/x`,
				ChecksumMode: "ENABLED",
			}),
		);
		// The check value of CRC-32/ISO-HDLC.
		expect(head.ChecksumCRC32).toBe(Buffer.from("cbf43926", "hex").toString("base64"));
	});
});
