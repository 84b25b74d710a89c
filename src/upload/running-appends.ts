/**
 * The appends that run in this process, at most one an upload.
 *
 * Section 4.7 of the draft: "the server SHOULD prevent race conditions … by
 * terminating the previous request before processing the new request": its caller
 * lost the connection and we don't know yet. Bytes are safe without this
 * (`stage/append-body.ts`); it only spares the caller the wait.
 */
import { IngestError } from "../errors.ts";

type End = (reason: IngestError, keeps: boolean) => void;

export interface RunningAppends {
	/** `append` is given what its body's end is to be known by. */
	run<T>(uploadId: string, append: (onStart: (end: End) => void) => Promise<T>): Promise<T>;
	/**
	 * Ends the one that runs, and waits until it is over: with what came of its body
	 * (`keeps`), or without what is not durable yet. False: none ran.
	 */
	end(uploadId: string, keeps: boolean): Promise<boolean>;
}

interface Running {
	end: End;
	over: Promise<void>;
}

export function createRunningAppends(): RunningAppends {
	const running = new Map<string, Running>();
	const displaced = () =>
		new IngestError("load_in_progress", "another request to this upload took its place", {
			retryAfterSeconds: 1,
		});
	return {
		async run(uploadId, append) {
			running.get(uploadId)?.end(displaced(), false);
			const over = Promise.withResolvers<void>();
			let asked: [IngestError, boolean] | null = null;
			const me: Running = {
				// Until the body is read, the wish is kept.
				end: (...wish) => {
					asked = wish;
				},
				over: over.promise,
			};
			running.set(uploadId, me);
			try {
				return await append((end) => {
					me.end = end;
					if (asked !== null) end(...asked);
				});
			} finally {
				over.resolve();
				if (running.get(uploadId) === me) running.delete(uploadId);
			}
		},
		async end(uploadId, keeps) {
			const found = running.get(uploadId);
			if (found === undefined) return false;
			found.end(displaced(), keeps);
			await found.over;
			return true;
		},
	};
}
