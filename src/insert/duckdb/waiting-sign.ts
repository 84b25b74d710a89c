/**
 * `{file}.waiting`: who waits for a database file that another process has says so beside
 * it, anew with every try; who has the file looks there. A sign that nobody renews any
 * more says nothing, so a process that died keeps nobody waiting.
 *
 * It is a hint and no lock: where it can't be written, or is removed, somebody waits longer.
 */

import { rmSync, statSync, writeFileSync } from "node:fs";
import type { Clock } from "../../clock.ts";

/** Renewed at least this often. */
export const signEveryMs = 250;
const validMs = 8 * signEveryMs;

const signOf = (file: string) => `${file}.waiting`;

export function putSign(file: string): void {
	try {
		writeFileSync(signOf(file), "");
	} catch {}
}

export function removeSign(file: string): void {
	try {
		rmSync(signOf(file), { force: true });
	} catch {}
}

export function othersWaitFor(file: string, clock: Clock): boolean {
	const found = statSync(signOf(file), { throwIfNoEntry: false });
	return found !== undefined && clock.now() - found.mtimeMs < validMs;
}
