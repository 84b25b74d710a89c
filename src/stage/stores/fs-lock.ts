/** A file beside an object, held by who compares and swaps it; that of a dead process is broken. */

import { open, rename, stat, unlink } from "node:fs/promises";
import process from "node:process";
import { codeOf, noneIfMissing } from "./fs-errors.ts";

const staleLockMs = 30_000;

/** Let go by removing the file. */
export async function takeLock(lock: string): Promise<void> {
	for (let round = 0; ; round++) {
		try {
			await (await open(lock, "wx")).close();
			return;
		} catch (error) {
			if (codeOf(error) === "ENOENT") return; // no folder: no object either
			if (codeOf(error) !== "EEXIST") throw error;
		}
		const held = await stat(lock).catch(noneIfMissing);
		if (held !== null && Date.now() - held.mtimeMs > staleLockMs) {
			// Only one of several breakers gets to rename it away.
			const broken = `${lock}-${process.pid}-${round}`;
			await rename(lock, broken).then(() => unlink(broken), noneIfMissing);
			continue;
		}
		await new Promise((wake) => setTimeout(wake, 1 + Math.random() * 5));
	}
}
