/** Listing a folder of objects in the order of their keys, reading only the folders that can hold one. */

import type { Dirent } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { ObjectInfo } from "../object-store.ts";
import { compareKeys } from "./compare-keys.ts";
import { continued, pathOfFolder, segmentOfFile, segmentOfFolder } from "./fs-paths.ts";

type InfoOf = (key: string, file: { size: bigint; mtimeNs: bigint }) => ObjectInfo;

interface Entry {
	/** Sort key: the segment, with a slash where it is a folder. */
	name: string;
	path: string;
}

/** Every object whose key begins with `prefix` and is after `startAfter`; one that goes meanwhile may be left out. */
export async function* listFolder(
	root: string,
	prefix: string,
	startAfter: string | undefined,
	infoOf: InfoOf,
): AsyncGenerator<ObjectInfo> {
	const segments = prefix.split("/").slice(0, -1);
	const base = segments.map((segment) => `${segment}/`).join("");
	yield* walk(segments.length === 0 ? root : join(root, pathOfFolder(segments)), base);

	async function* walk(folder: string, base: string): AsyncGenerator<ObjectInfo> {
		const entries = await readEntries(folder, "", folder === root);
		entries.sort((a, b) => compareKeys(a.name, b.name));
		for (const { name, path } of entries) {
			const key = base + name;
			if (name.endsWith("/")) {
				if (!key.startsWith(prefix) && !prefix.startsWith(key)) continue;
				if (startAfter !== undefined && !startAfter.startsWith(key)) {
					if (compareKeys(key, startAfter) < 0) continue;
				}
				yield* walk(path, key);
			} else if (key.startsWith(prefix)) {
				if (startAfter !== undefined && compareKeys(key, startAfter) <= 0) continue;
				const found = await stat(path, { bigint: true }).catch(() => null);
				if (found !== null) yield infoOf(key, found);
			}
		}
	}
}

/** Folders in which a long segment goes on are opened here: their entries are those of the one above. */
async function readEntries(folder: string, begun: string, isRoot: boolean): Promise<Entry[]> {
	const entries: Entry[] = [];
	for (const entry of await read(folder)) {
		if (isRoot && entry.name === "%tmp") continue;
		const path = join(folder, entry.name);
		if (entry.isDirectory()) {
			if (entry.name.endsWith(continued)) {
				const more = begun + entry.name.slice(0, -continued.length);
				entries.push(...(await readEntries(path, more, false)));
			} else {
				entries.push({ name: `${segmentOfFolder(begun + entry.name)}/`, path });
			}
		} else if (entry.isFile() && !/%lock(-\d+-\d+)?$/.test(entry.name)) {
			entries.push({ name: segmentOfFile(begun + entry.name), path });
		}
	}
	return entries;
}

async function read(folder: string): Promise<Dirent[]> {
	try {
		return await readdir(folder, { withFileTypes: true });
	} catch (error) {
		const { code } = error as NodeJS.ErrnoException;
		if (code === "ENOENT" || code === "ENOTDIR") return [];
		throw error;
	}
}
