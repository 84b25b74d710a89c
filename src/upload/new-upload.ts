/** A load's parameters and who asks for it, as the request that is staged. */
import type { LoadParameters, UploadRequest } from "../flow.ts";
import type { NewUpload } from "../stage/stage-upload.ts";
import type { Call } from "./route.ts";

export function newUploadOf(
	call: Call,
	load: LoadParameters,
	contentEncoding: UploadRequest["content_encoding"],
): NewUpload {
	const principal = call.principal!;
	return {
		...load,
		tenant: principal.tenant,
		key_id: principal.keyId,
		rights: [...principal.rights],
		source: { kind: "http" },
		content_encoding: contentEncoding,
		request_id: call.requestId,
		traceparent: call.traceparent,
	};
}
