/**
 * A message of the queue in, the job it names out: what the upload side sent, or
 * what R2 says of a new object. https://developers.cloudflare.com/r2/buckets/event-notifications/
 *
 * R2's keys are not URL-encoded, and there is neither a version nor an order.
 */
import * as z from "zod";
import type { ReplayJob } from "../flow.ts";
import { isUploadId, parseUploadKey } from "../stage/object-keys.ts";
import { isTenantName } from "../tenant/tenant-name.ts";

const jobSchema = z.object({
	tenant: z.string().refine(isTenantName),
	upload_id: z.string().refine(isUploadId),
});

const eventSchema = z.object({
	action: z.string(),
	bucket: z.string(),
	object: z.object({ key: z.string() }),
});

/** Actions after which an object is there. */
const creations = ["PutObject", "CopyObject", "CompleteMultipartUpload"];

/** Whether it tells of an object, of whichever. */
export const isStoreEvent = (body: unknown) => eventSchema.safeParse(body).success;

/** Null: nothing to do for it, now or later. */
export function jobOfMessage(body: unknown): ReplayJob | null {
	const job = jobSchema.safeParse(body);
	if (job.success) return job.data;
	const event = eventSchema.safeParse(body);
	if (!event.success || !creations.includes(event.data.action)) return null;
	const key = parseUploadKey(event.data.object.key);
	return key?.rest === "manifest.json" ? { tenant: key.tenant, upload_id: key.id } : null;
}
