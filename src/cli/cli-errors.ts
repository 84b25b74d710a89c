/**
 * Whatever a command throws → the problem that is printed and the exit code.
 *
 * Faults on this side of the wire (a missing file, no connection, a bad flag) are
 * told in the same form as the service's problems, so that `--json` has one shape.
 */
import { ConnectionError, ProblemError, SourceError } from "../client/client-errors.ts";
import { asIngestError, type ErrorCode, IngestError } from "../errors.ts";
import type { Problem } from "../flow.ts";
import { problemOf } from "../upload/problem-json.ts";
import { exitCodeOfProblem, exitCodes } from "./exit-codes.ts";

/** A flag or argument that can't be used: exit code 2. */
export class UsageError extends Error {
	override readonly name = "UsageError";
}

/** A FILE that is not there or cannot be read: exit code 66. */
export class NotThereError extends Error {
	override readonly name = "NotThereError";
}

/** Ctrl-C or SIGTERM: exit code 75, for there is something left to do. */
export class InterruptedError extends Error {
	override readonly name = "InterruptedError";
}

export function toProblem(error: unknown): { problem: Problem; exitCode: number } {
	if (error instanceof ProblemError) {
		return { problem: error.problem, exitCode: exitCodeOfProblem(error.problem) };
	}
	if (error instanceof UsageError) return local("bad_request", error.message, exitCodes.usage);
	if (error instanceof NotThereError) return local("bad_request", error.message, exitCodes.noInput);
	if (error instanceof SourceError) return local("too_large", error.message, exitCodes.data);
	if (error instanceof ConnectionError) {
		return local("store_unavailable", `no connection: ${error.message}`, exitCodes.unavailable);
	}
	if (error instanceof InterruptedError) return local("timeout", error.message, exitCodes.tryAgain);
	// A configuration that can't be used is told by name, not by import: it has no code.
	if (error instanceof Error && error.name === "ConfigError") {
		return local("bad_request", error.message, exitCodes.usage);
	}
	const ingest = asIngestError(error);
	const problem = problemOfIngestError(ingest);
	return { problem, exitCode: exitCodeOfProblem(problem) };
}

/** A fault of ours is told in full here: who runs the command may read everything. */
function problemOfIngestError(error: IngestError): Problem {
	const problem = problemOf(error);
	// The path was typed here; where a service meets it, somebody else mends it meanwhile.
	if (problem.reason === "no_database") problem.retryable = false;
	return error.code === "internal" ? { ...problem, detail: error.message } : problem;
}

function local(code: ErrorCode, detail: string, exitCode: number) {
	return { problem: problemOfIngestError(new IngestError(code, detail)), exitCode };
}
