/**
 * The parts of an upload that still takes them, as they become durable; complete once its manifest
 * is there. What was handed out to be read is held against what the upload turned out to be.
 *
 * Who waits is given up when no part has come for `idleMs`, or when all waits together took
 * `maxWaitMs`: an upload that is so slow gains little from being loaded meanwhile.
 */

import type { Clock } from "../clock.ts";
import type { ManifestPart } from "../flow.ts";
import type { PartSequence } from "./read-parts.ts";

export interface PartFeedOptions {
	clock: Clock;
	idleMs: number;
	maxWaitMs: number;
	/** A part that was handed out was sent again. */
	onStale(n: number): void;
}

export class PartFeed implements PartSequence {
	readonly #options: PartFeedOptions;
	/** By number, from 1. Of parts that were sent again the last one, as a complete would take it. */
	readonly #parts = new Map<number, ManifestPart>();
	#handedOut = 0;
	#all: readonly ManifestPart[] | null = null;
	#heardAt: number;
	#waitedMs = 0;
	#changed = Promise.withResolvers<void>();

	constructor(parts: readonly ManifestPart[], options: PartFeedOptions) {
		this.#options = options;
		this.#heardAt = options.clock.now();
		for (const part of parts) this.add(part);
	}

	add(part: ManifestPart): void {
		const before = this.#parts.get(part.n);
		// Keys of later bytes are greater, and requests may end in another order.
		if (before !== undefined && before.key >= part.key) return;
		this.#parts.set(part.n, part);
		this.#heardAt = this.#options.clock.now();
		if (part.n <= this.#handedOut) this.#options.onStale(part.n);
		this.#change();
	}

	/** The manifest's parts; false where they are not those that were read. */
	complete(parts: readonly ManifestPart[]): boolean {
		const all = [...parts].sort((a, b) => a.n - b.n);
		for (let at = 0; at < this.#handedOut; at++) {
			const read = this.#parts.get(at + 1);
			if (read === undefined || !samePart(read, all[at])) return false;
		}
		this.#all = all;
		this.#change();
		return true;
	}

	known(at: number): ManifestPart | null | undefined {
		const part = this.#all === null ? this.#parts.get(at + 1) : (this.#all[at] ?? null);
		if (part && this.#all === null) this.#handedOut = Math.max(this.#handedOut, at + 1);
		return part;
	}

	async wait(at: number, signal: AbortSignal): Promise<ManifestPart | null> {
		const { clock, idleMs, maxWaitMs } = this.#options;
		for (;;) {
			signal.throwIfAborted();
			const part = this.known(at);
			if (part !== undefined) return part;
			const since = clock.now();
			const leftMs = Math.min(this.#heardAt + idleMs - since, maxWaitMs - this.#waitedMs);
			if (leftMs <= 0) throw new Error(`part ${at + 1} did not come in time`);
			const over = new AbortController();
			const stop = () => over.abort();
			signal.addEventListener("abort", stop, { once: true });
			await Promise.race([clock.sleep(leftMs, over.signal).catch(() => {}), this.#changed.promise]);
			signal.removeEventListener("abort", stop);
			over.abort();
			this.#waitedMs += clock.now() - since;
		}
	}

	#change(): void {
		this.#changed.resolve();
		this.#changed = Promise.withResolvers();
	}
}

const samePart = (read: ManifestPart, named: ManifestPart | undefined) =>
	named !== undefined &&
	read.n === named.n &&
	read.key === named.key &&
	read.size === named.size &&
	read.etag === named.etag &&
	read.sha256 === named.sha256;
