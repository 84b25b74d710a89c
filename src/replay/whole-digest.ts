/**
 * All bytes of an upload against the one digest that its manifest has of them: taken while they are
 * read for the load, so that they are digested once.
 */

import type { ByteChunks } from "../arrow/byte-source.ts";
import { IngestError } from "../errors.ts";
import type { Manifest } from "../flow.ts";

/** SHA-256 (hex) of the bytes as staged, all parts of them in order, where the manifest says it. */
export function wholeSha256({ sha256, parts }: Pick<Manifest, "parts" | "sha256">): string | null {
	return sha256 ?? (parts.length === 1 ? parts[0]!.sha256 : null);
}

export class WholeDigest {
	readonly #expected: () => string | null;
	#found: string | null = null;

	/** `expected` is asked when the bytes were read to their end. */
	constructor(expected: () => string | null) {
		this.#expected = expected;
	}

	/** For `ReadPartsOptions.onWhole`. */
	readonly read = (sha256: string): void => {
		const expected = this.#expected();
		if (sha256 !== expected) {
			throw new IngestError(
				"digest_mismatch",
				`the staged bytes are not those that the manifest names, with SHA-256 ${expected ?? "unknown"}: theirs is ${sha256}`,
			);
		}
		this.#found = sha256;
	};

	/** For `StagedSource.sha256`. */
	readonly told = (): string => {
		if (this.#found === null) throw new Error("the bytes were not read to their end");
		return this.#found;
	};

	/** Reads all of them, where nobody has. */
	async verify(
		source: { stream(signal: AbortSignal): ByteChunks },
		signal: AbortSignal,
	): Promise<void> {
		if (this.#found !== null) return;
		for await (const _ of source.stream(signal)) signal.throwIfAborted();
	}
}
