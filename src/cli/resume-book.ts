/**
 * Unfinished uploads of this user, so that the same `push` goes on where it broke
 * off. One small file each, named by what is pushed where; gone once the load has
 * ended.
 */
import { createHash } from "node:crypto";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";

export interface UnfinishedUpload {
	upload_id: string;
	part_size: number;
}

export interface ResumeBook {
	find(): Promise<UnfinishedUpload | null>;
	keep(upload: UnfinishedUpload): Promise<void>;
	forget(): Promise<void>;
}

/** `identity`: everything that makes it the same push: service, parameters, files. */
export function createResumeBook(stateFolder: string, identity: readonly unknown[]): ResumeBook {
	const name = createHash("sha256").update(JSON.stringify(identity)).digest("hex");
	const folder = join(stateFolder, "uploads");
	const path = join(folder, `${name}.json`);
	return {
		async find() {
			const text = await readFile(path, "utf8").catch(() => null);
			if (text === null) return null;
			try {
				const read = JSON.parse(text) as Partial<UnfinishedUpload>;
				return typeof read.upload_id === "string" && typeof read.part_size === "number"
					? { upload_id: read.upload_id, part_size: read.part_size }
					: null;
			} catch {
				return null;
			}
		},
		async keep(upload) {
			await mkdir(folder, { recursive: true, mode: 0o700 });
			await writeFile(`${path}.${process.pid}`, JSON.stringify(upload), { mode: 0o600 });
			await rename(`${path}.${process.pid}`, path);
		},
		forget: () => rm(path, { force: true }),
	};
}
