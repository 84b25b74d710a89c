import { expect, test } from "vitest";
import { jobOfMessage } from "../../../src/trigger/r2-event.ts";
import { signBody, verifyBody } from "../../../src/trigger/signed-request.ts";

const secret = "s".repeat(32);
const now = Date.UTC(2026, 10, 30);

test("what was signed lately with the same secret is good, and nothing else", async () => {
	const header = await signBody(secret, "body", now);
	expect(header).toMatch(/^t=\d+,v1=[0-9a-f]{64}$/);
	expect(await verifyBody(secret, "body", header, now)).toBe(true);
	expect(await verifyBody(secret, "body", header, now + 300_000)).toBe(true);
	expect(await verifyBody(secret, "body", header, now + 301_000)).toBe(false);
	expect(await verifyBody(secret, "body", header, now - 301_000)).toBe(false);
	expect(await verifyBody(secret, "bodY", header, now)).toBe(false);
	expect(await verifyBody("t".repeat(32), "body", header, now)).toBe(false);
	const later = header.replace(/t=\d+/, `t=${now / 1000 + 1}`);
	expect(await verifyBody(secret, "body", later, now)).toBe(false);
	for (const none of [null, "", "v1=00", header.toUpperCase(), `${header}0`]) {
		expect(await verifyBody(secret, "body", none, now)).toBe(false);
	}
});

const id = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
const job = { tenant: "acme", upload_id: id };
const event = (key: string, action = "PutObject") => ({
	account: "a",
	action,
	bucket: "b",
	object: { key, size: 1, eTag: "e" },
	eventTime: "2026-11-30T00:00:00Z",
});

test.each([
	[job, job],
	[event(`uploads/acme/${id}/manifest.json`), job],
	[event(`uploads/acme/${id}/manifest.json`, "CompleteMultipartUpload"), job],
	[event(`uploads/acme/${id}/manifest.json`, "DeleteObject"), null],
	[event(`uploads/acme/${id}/upload.json`), null],
	[event(`uploads/acme/${id}/parts/manifest.json`), null],
	[event(`uploads/../${id}/manifest.json`), null],
	[event(`uploads/acme/x/manifest.json`), null],
	[{ tenant: "../acme", upload_id: id }, null],
	[{ tenant: "acme", upload_id: "x" }, null],
	["text", null],
	[null, null],
])("message %j names %j", (body, expected) => {
	expect(jobOfMessage(body)).toEqual(expected);
});
