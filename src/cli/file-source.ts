/** Files and standard input as sources of a load. */
import { open } from "node:fs/promises";
import type { ByteSource } from "../arrow/byte-source.ts";
import { IngestError } from "../errors.ts";
import { fileChunks } from "./file-chunks.ts";

/** A file that doesn't change while it is read. Many calls of `stream` are fine. */
export function fileSource(path: string, size: number): ByteSource {
	return {
		name: path,
		stream: (signal) => fileChunks(path, signal),
		atRest: {
			size,
			async read(offset, length) {
				await using handle = await open(path);
				const bytes = new Uint8Array(length);
				for (let done = 0; done < length; ) {
					const { bytesRead } = await handle.read(bytes, done, length - done, offset + done);
					if (bytesRead === 0) {
						throw new IngestError(
							"truncated_stream",
							`${path} ends at byte ${offset + done}; bytes up to ${offset + length} were asked for`,
						);
					}
					done += bytesRead;
				}
				return bytes;
			},
		},
	};
}

/** Bytes that come by once: a load that has to begin anew fails instead of being short. */
export function pipeSource(name: string, bytes: () => AsyncIterable<Uint8Array>): ByteSource {
	let taken = false;
	return {
		name,
		stream() {
			if (taken) throw new IngestError("internal", `${name} can't be read a second time`);
			taken = true;
			return bytes();
		},
		atRest: null,
	};
}
