/**
 * A request's bytes at the end of an upload, and what is answered: its new offset,
 * or, of the request that completes it, what its load is answered with.
 *
 * draft-ietf-httpbis-resumable-upload-12. The answer's `Upload-Complete` tells whose
 * word it is: `?0` the upload's (go on from `Upload-Offset`), `?1` the load's.
 */
import { IngestError } from "../errors.ts";
import { type AppendedUpload, appendBody, recordLength } from "../stage/append-body.ts";
import { asAppendError, inconsistentLength } from "../stage/append-errors.ts";
import { assertRoom, completeUpload } from "../stage/complete-upload.ts";
import { answerLoad, appliedPreferences, waitMsOf } from "./answer-load.ts";
import { guardBody } from "./guard-body.ts";
import { refuseByHead } from "./peek-body.ts";
import {
	readContentDigest,
	readContentLength,
	readPreferences,
	readReprDigest,
} from "./read-headers.ts";
import { appendLimit, formatComplete, readUploadLength } from "./resumable-headers.ts";
import type { Call } from "./route.ts";

/** `answerOpen`: what a request is answered with that leaves the upload open. */
export async function takeAppend(
	call: Call,
	upload: AppendedUpload,
	complete: boolean,
	answerOpen: (offset: number) => Response,
): Promise<Response> {
	const { deps, request } = call;
	const { tenant, upload_id: id } = upload.request;
	const preferences = readPreferences(request.headers);
	const repr_digest = readReprDigest(request.headers) ?? upload.request.appends?.repr_digest;
	tellOffset(call, upload, upload.offset);
	if (complete) assertRoom(deps);
	try {
		const now = await append(call, upload, complete);
		if (!complete) return answerOpen(now.offset);
		if (now.length !== null && now.offset !== now.length) {
			throw inconsistentLength(
				`the upload is said to be complete with ${now.offset} bytes, ${now.length} were announced`,
			);
		}
		const completion = await completeUpload(deps, tenant, id, {
			parts: now.parts,
			repr_digest: repr_digest ?? null,
		});
		deps.quotas?.closeUpload(tenant, id);
		if (completion.kind === "started") deps.quotas?.addBytes(tenant, now.offset);
		call.setHeaders({ "Upload-Complete": formatComplete(true) });
		const headers = appliedPreferences(preferences);
		return await answerLoad(call, completion, waitMsOf(call, preferences, true), id, headers);
	} catch (error) {
		throw asAppendError(error);
	}
}

/** What every answer tells of an upload that takes appends. */
export function tellOffset(call: Call, upload: AppendedUpload, offset: number): void {
	const { deps } = call;
	const leftSeconds = (Date.parse(upload.request.expires_at) - deps.clock.now()) / 1000;
	call.setHeaders({
		"Upload-Offset": String(offset),
		"Upload-Complete": formatComplete(upload.state === "completed"),
		"Upload-Limit": appendLimit(deps, leftSeconds),
	});
}

async function append(
	call: Call,
	upload: AppendedUpload,
	complete: boolean,
): Promise<{ parts: number; offset: number; length: number | null }> {
	const { deps, request } = call;
	const { tenant, upload_id: id, content_encoding } = upload.request;
	const sha256 = readContentDigest(request.headers);
	const size = readContentLength(request.headers);
	const length = await meetLength(call, upload, complete, size);
	const { stream: guarded } = guardBody(request, {
		clock: deps.clock,
		openBody: call.openBody,
		what: "the append",
		maxBytes: Math.min(deps.limits.maxUploadBytes, deps.maxRequestBytes ?? Infinity),
	});
	const stream =
		upload.offset === 0 && content_encoding === "identity"
			? await refuseByHead(deps, guarded, complete)
			: guarded;
	let { offset } = upload;
	const run = (onStart?: (end: (reason: IngestError, keeps: boolean) => void) => void) =>
		appendBody(deps, { ...upload, length }, stream, {
			...(sha256 === null ? {} : { sha256 }),
			...(size === null ? {} : { size }),
			...(onStart === undefined ? {} : { onStart }),
			onOffset(durable) {
				deps.metrics?.countBytes(tenant, durable - offset);
				offset = durable;
				tellOffset(call, upload, offset);
				// "These interim responses MUST NOT include the Location header field."
				call.inform?.({ "Upload-Offset": String(offset) });
			},
		});
	const work = deps.runningAppends?.run(id, run) ?? run();
	deps.inBackground?.(work.catch(() => {}));
	const { brokenOff, parts } = await work;
	if (brokenOff !== null) throw brokenOff;
	return { parts, offset, length };
}

/** The upload's length as far as it is known now: two indicators "MUST match" (section 4.1.3). */
async function meetLength(
	call: Call,
	upload: AppendedUpload,
	complete: boolean,
	size: number | null,
): Promise<number | null> {
	const { limits } = call.deps;
	const announced = readUploadLength(call.request.headers);
	const counted = complete && size !== null ? upload.offset + size : null;
	if (announced !== null && counted !== null && announced !== counted) {
		throw inconsistentLength(
			`Upload-Length announces ${announced} bytes, offset and Content-Length make ${counted}`,
		);
	}
	const length = announced ?? counted;
	if (size !== null && upload.length !== null && upload.offset + size > upload.length) {
		throw inconsistentLength(
			`offset and Content-Length make ${upload.offset + size} bytes, ${upload.length} were announced`,
		);
	}
	if (length === null) return upload.length;
	if (length > limits.maxUploadBytes) {
		throw new IngestError(
			"too_large",
			`the upload will have ${length} bytes, ${limits.maxUploadBytes} are taken`,
			{ extra: { limit_bytes: limits.maxUploadBytes } },
		);
	}
	await recordLength(call.deps, upload, length);
	return length;
}
