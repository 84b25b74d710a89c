/** What a call of the client throws, besides the reason of an aborted signal. */
import type { Problem } from "../flow.ts";

/** The service said no. `problem` is its document as it was sent (RFC 9457). */
export class ProblemError extends Error {
	override readonly name = "ProblemError";
	readonly problem: Problem;
	readonly retryAfterSeconds: number | null;

	constructor(problem: Problem, retryAfterSeconds: number | null = null) {
		super(`${problem.code}: ${problem.detail}`);
		this.problem = problem;
		this.retryAfterSeconds = retryAfterSeconds;
	}
}

/** Nobody answered, or what answered is not the service; `cause` is the last failure. */
export class ConnectionError extends Error {
	override readonly name = "ConnectionError";
}

/** A file, stream or option of the caller's that cannot be sent as it is. */
export class SourceError extends Error {
	override readonly name = "SourceError";
}
