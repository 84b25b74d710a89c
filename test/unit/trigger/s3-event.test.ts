import { describe, expect, it } from "vitest";
import { readS3Message } from "../../../src/trigger/s3-event.ts";

const places = {
	store: { bucket: "lake", prefix: "dock/" },
	drop: { bucket: "inbox", prefix: "" },
};
const id = "01JDXW3Z0E8Q6Y5C4B3A291807";

const record = (key: string, more: Record<string, unknown> = {}) => ({
	eventVersion: "2.3",
	eventName: "ObjectCreated:Put",
	s3: {
		bucket: { name: "inbox", arn: "arn:aws:s3:::inbox" },
		object: { key, size: 5, eTag: "abc", sequencer: "0055AED6DCD90281E5", ...more },
	},
});
const inBucket = (name: string, key: string) => {
	const one = record(key);
	return { ...one, s3: { ...one.s3, bucket: { name } } };
};
const read = (...records: unknown[]) => readS3Message(JSON.stringify({ Records: records }), places);
const keyOf = (key: string) => {
	const [notice] = read(record(key));
	return notice?.kind === "drop" ? notice.object.key : notice;
};

describe("a message of S3", () => {
	it("has URL-encoded keys: spaces, pluses, equals signs, percents and letters of all scripts (case 26)", () => {
		expect(keyOf("drop/acme/main/t/a+b%2Bc.arrow")).toBe("drop/acme/main/t/a b+c.arrow");
		expect(keyOf("drop/acme/main/t/day%3D2026-11-30/100%25.arrow")).toBe(
			"drop/acme/main/t/day=2026-11-30/100%.arrow",
		);
		expect(keyOf("drop/acme/main/t/day=1/x.arrow")).toBe("drop/acme/main/t/day=1/x.arrow");
		expect(keyOf("drop%2Facme%2Fmain%2Ft%2Fz%C3%BCrich+%F0%9F%A6%86.arrow")).toBe(
			"drop/acme/main/t/zürich 🦆.arrow",
		);
		// Percent-encoded names inside a key are encoded once more by S3.
		expect(keyOf("drop/acme/main/a%252Fb/x.arrow")).toBe("drop/acme/main/a%2Fb/x.arrow");
	});

	it("names the load of a manifest, and nothing of an upload's other objects", () => {
		const manifest = `dock/uploads/acme/${id}/manifest.json`;
		expect(read(inBucket("lake", manifest))).toEqual([
			{ kind: "load", job: { tenant: "acme", upload_id: id } },
		]);
		for (const key of [
			`dock/uploads/acme/${id}/parts/00001`,
			`uploads/acme/${id}/manifest.json`,
			`dock/uploads/Acme/${id}/manifest.json`,
			`dock/uploads/acme/../${id}/manifest.json`,
			`dock/keys/abc.json`,
		]) {
			expect(read(inBucket("lake", key))[0]).toMatchObject({ kind: "nothing" });
		}
	});

	it("tells version and sequencer where there are some", () => {
		expect(read(record("drop/acme/main/t/x", { versionId: "v7" }))[0]).toEqual({
			kind: "drop",
			object: {
				bucket: "inbox",
				key: "drop/acme/main/t/x",
				version: "v7",
				etag: "abc",
				sequencer: "0055AED6DCD90281E5",
			},
		});
		const bare = { versionId: "null", sequencer: undefined, eTag: '"abc"' };
		expect(read(record("drop/acme/main/t/x", bare))[0]).toMatchObject({
			object: { version: null, etag: "abc", sequencer: null },
		});
	});

	it("asks for nothing when it is a test, of another bucket, of a removal or of our own rule (case 27)", () => {
		const test = { Service: "Amazon S3", Event: "s3:TestEvent", Bucket: "inbox" };
		expect(readS3Message(JSON.stringify(test), places)[0]).toMatchObject({ kind: "nothing" });
		expect(read(inBucket("foreign", "drop/acme/main/t/x"))[0]).toEqual({
			kind: "nothing",
			why: "the bucket is not ours",
		});
		expect(
			read({ ...record("drop/acme/main/t/x"), eventName: "ObjectRemoved:Delete" })[0],
		).toMatchObject({ kind: "nothing" });
		for (const key of [
			"drop/acme/drop.json",
			"drop/acme/main/drop.json",
			"drop/acme/main/t/",
			"drop/acme/main/t/mode=replace/",
			"drop/BAD/main/t/x",
			"loads/x",
		]) {
			expect(read(record(key))[0]).toMatchObject({ kind: "nothing" });
		}
	});

	it("may hold several records, and jobs of our own", () => {
		expect(read(record("drop/acme/main/t/a"), record("drop/acme/main/t/b"))).toHaveLength(2);
		expect(readS3Message(JSON.stringify({ tenant: "acme", upload_id: id }), places)).toEqual([
			{ kind: "load", job: { tenant: "acme", upload_id: id } },
		]);
	});

	it("is refused where it is nothing that S3 or we would send", () => {
		for (const body of [
			"",
			"{",
			"[]",
			"null",
			'"text"',
			"{}",
			'{"Records":{}}',
			'{"Records":[null]}',
			'{"Records":[{"eventName":"ObjectCreated:Put"}]}',
			JSON.stringify({ tenant: "../x", upload_id: id }),
			JSON.stringify({ Records: [record("drop/%")] }),
			JSON.stringify({ Records: [record("drop/acme/main/t/x", { eTag: undefined })] }),
		]) {
			expect(() => readS3Message(body, places)).toThrowError(
				expect.objectContaining({ code: "bad_request" }),
			);
		}
	});
});
