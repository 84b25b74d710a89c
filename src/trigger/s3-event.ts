/**
 * A message of S3's queue in, what it asks for out: loads of finished uploads, files
 * that appeared under `drop/`, or nothing.
 * https://docs.aws.amazon.com/AmazonS3/latest/userguide/notification-content-structure.html
 *
 * S3 delivers at least once and in any order, and a message can hold several records.
 * Keys are URL-encoded, with `+` for a space. Messages of ours are jobs by name.
 */

import * as z from "zod";
import { IngestError } from "../errors.ts";
import type { ReplayJob } from "../flow.ts";
import { parseDropKey } from "../stage/drop-key.ts";
import { isUploadId, parseUploadKey } from "../stage/object-keys.ts";
import { isTenantName } from "../tenant/tenant-name.ts";

/** Where objects lie; a prefix is empty or ends with a slash. */
export interface BucketPlace {
	bucket: string;
	prefix: string;
}

/** One version of a file under `drop/`, as the event names it. */
export interface DropObject {
	bucket: string;
	/** Without the store's prefix. */
	key: string;
	version: string | null;
	/** Without quotes. */
	etag: string;
	/** Hexadecimal; orders events of one key. */
	sequencer: string | null;
}

export type S3Notice =
	| { kind: "load"; job: ReplayJob }
	| { kind: "drop"; object: DropObject }
	/** Nothing to do for it, now or later. */
	| { kind: "nothing"; why: string };

const jobSchema = z.object({
	tenant: z.string().refine(isTenantName),
	upload_id: z.string().refine(isUploadId),
});

const recordSchema = z.object({
	eventName: z.string(),
	s3: z.object({
		bucket: z.object({ name: z.string() }),
		object: z.object({
			key: z.string(),
			eTag: z.string().optional(),
			versionId: z.string().nullish(),
			sequencer: z.string().nullish(),
		}),
	}),
});

const eventSchema = z.object({ Records: z.array(z.unknown()) });
const testSchema = z.object({ Event: z.literal("s3:TestEvent") });

export interface S3Places {
	/** Of `uploads/`. */
	store: BucketPlace;
	/** Of `drop/`. */
	drop: BucketPlace;
}

/** `bad_request` for what is no message of S3's or ours: it belongs to the dead letters. */
export function readS3Message(body: string, places: S3Places): S3Notice[] {
	const message = parseJson(body);
	const job = jobSchema.safeParse(message);
	if (job.success) return [{ kind: "load", job: job.data }];
	if (testSchema.safeParse(message).success) return [{ kind: "nothing", why: "a test event" }];
	const event = eventSchema.safeParse(message);
	if (!event.success) throw unreadable("it has neither Records nor a job", event.error);
	return event.data.Records.map((record) => readRecord(record, places));
}

function readRecord(value: unknown, places: S3Places): S3Notice {
	const record = recordSchema.safeParse(value);
	if (!record.success) throw unreadable("a record has another shape", record.error);
	const { eventName, s3 } = record.data;
	if (!/^(s3:)?ObjectCreated:/.test(eventName)) return nothing(`the event is ${eventName}`);
	const key = decodeKey(s3.object.key);
	const { name: bucket } = s3.bucket;

	const upload = parseUploadKey(keyIn(places.store, bucket, key) ?? "");
	if (upload?.rest === "manifest.json") {
		return { kind: "load", job: { tenant: upload.tenant, upload_id: upload.id } };
	}
	const dropKey = keyIn(places.drop, bucket, key);
	if (dropKey !== null && parseDropKey(dropKey) !== null) {
		const { eTag, versionId, sequencer } = s3.object;
		if (eTag === undefined) throw unreadable("a created object has no eTag");
		return {
			kind: "drop",
			object: {
				bucket,
				key: dropKey,
				// A bucket without versions says nothing, or "null".
				version: versionId && versionId !== "null" ? versionId : null,
				etag: eTag.replace(/^"|"$/g, ""),
				sequencer: sequencer && /^[0-9a-f]+$/i.test(sequencer) ? sequencer : null,
			},
		};
	}
	const ours = [places.store.bucket, places.drop.bucket].includes(bucket);
	return nothing(ours ? "the object triggers nothing" : "the bucket is not ours");
}

/** The key inside the place; null: it lies elsewhere. */
function keyIn(place: BucketPlace, bucket: string, key: string): string | null {
	if (bucket !== place.bucket || !key.startsWith(place.prefix)) return null;
	return key.slice(place.prefix.length);
}

function decodeKey(encoded: string): string {
	try {
		return decodeURIComponent(encoded.replaceAll("+", " "));
	} catch (cause) {
		throw unreadable(`the key ${encoded.slice(0, 200)} is not URL-encoded`, cause);
	}
}

function parseJson(body: string): unknown {
	try {
		return JSON.parse(body);
	} catch (cause) {
		throw unreadable("it is not JSON", cause);
	}
}

const nothing = (why: string): S3Notice => ({ kind: "nothing", why });
const unreadable = (what: string, cause?: unknown) =>
	new IngestError("bad_request", `the message is none of S3's and none of ours: ${what}`, {
		cause,
	});
