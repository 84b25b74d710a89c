/** What a file system says, as what a store says. */

import { IngestError } from "../../errors.ts";

export const codeOf = (error: unknown) => (error as NodeJS.ErrnoException | null)?.code;

/** For a catch: null where nothing is there, else thrown on. */
export function noneIfMissing(error: unknown): null {
	if (codeOf(error) === "ENOENT" || codeOf(error) === "ENOTDIR") return null;
	throw error;
}

/** Denied and misconfigured will not pass: `internal`. Full disks, lost mounts and the like may. */
export function toStoreError(key: string, error: unknown): unknown {
	const code = codeOf(error);
	if (error instanceof IngestError || code === undefined || !/^E[A-Z0-9]+$/.test(code))
		return error;
	const lasting = ["EACCES", "EPERM", "EROFS", "ENAMETOOLONG", "EISDIR", "EINVAL"].includes(code);
	return new IngestError(
		lasting ? "internal" : "store_unavailable",
		`the object store's file system refuses ${key}: ${(error as Error).message}`,
		{ cause: error },
	);
}

export async function asStoreError<T>(key: string, run: () => T | Promise<T>): Promise<T> {
	try {
		return await run();
	} catch (error) {
		throw toStoreError(key, error);
	}
}
