/**
 * What Node's HTTP parser refuses never reaches the app: it is answered here, as
 * every other answer is, by a problem with a request id, and the connection ends.
 *
 * For the event `clientError`: https://nodejs.org/api/http.html#event-clienterror
 */

import { randomUUID } from "node:crypto";
import { type ServerResponse, STATUS_CODES } from "node:http";
import type { Duplex } from "node:stream";
import { IngestError } from "../src/errors.ts";
import { problemOf } from "../src/upload/problem-json.ts";

/** Codes of Node's own with a status of their own; the others are 400. */
const statuses: Record<string, number> = {
	HPE_HEADER_OVERFLOW: 431,
	HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
	ERR_HTTP_REQUEST_TIMEOUT: 408,
};

/** The socket is ours to end, whatever state it is in. */
export function refuseUnparsed(error: Error & { code?: string }, socket: Duplex): void {
	const running = (socket as { _httpMessage?: ServerResponse | null })._httpMessage;
	// An answer that has begun can't be taken back, and a peer that is gone hears nothing.
	if (!socket.writable || running?.headersSent || error.code === "ECONNRESET") {
		socket.destroy(error);
		return;
	}
	const id = randomUUID();
	const status = statuses[error.code ?? ""] ?? 400;
	const body = JSON.stringify(
		problemOf(reasonOf(error), { instance: "/", request_id: id, status }),
	);
	socket.end(
		[
			`HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
			"Content-Type: application/problem+json",
			`Content-Length: ${Buffer.byteLength(body)}`,
			`X-Request-Id: ${id}`,
			"Cache-Control: no-store",
			"Connection: close",
			"",
			body,
		].join("\r\n"),
	);
}

function reasonOf(error: Error & { code?: string }): IngestError {
	return error.code === "HPE_INVALID_EOF_STATE"
		? new IngestError("truncated_stream", "the connection ended in the middle of the request")
		: new IngestError("bad_request", `the request is not HTTP as we read it: ${error.message}`);
}
