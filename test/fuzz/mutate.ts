/**
 * From a right input to a wrong one. In: a seed of the corpus and random numbers;
 * out: bytes and which kind of damage was done. Most kinds aim behind the checks
 * that come first: at counts of a batch, at values of one buffer.
 */

import type { Seed } from "./corpus.ts";
import type { MappedMessage } from "./ipc-map.ts";
import type { Prng } from "./prng.ts";

export const mutationKinds = [
	"buffer value",
	"buffer bits",
	"count of a node or buffer",
	"buffers laid over each other",
	"metadata word",
	"metadata byte",
	"any byte",
	"cut",
	"messages dropped, doubled or swapped",
	"splice of two",
	"bytes put in or taken out",
	"nothing",
] as const;
export type MutationKind = (typeof mutationKinds)[number];

/** How often each kind is drawn. */
const weights: Record<MutationKind, number> = {
	"buffer value": 30,
	"buffer bits": 12,
	"count of a node or buffer": 12,
	"buffers laid over each other": 4,
	"metadata word": 14,
	"metadata byte": 8,
	"any byte": 5,
	cut: 4,
	"messages dropped, doubled or swapped": 5,
	"splice of two": 5,
	"bytes put in or taken out": 2,
	nothing: 3,
};
const wheel = mutationKinds.flatMap((kind) => new Array<MutationKind>(weights[kind]).fill(kind));

/** Integers that code forgets: borders of widths, small ones, one off. */
const borders = [
	0n,
	1n,
	2n,
	-1n,
	-2n,
	7n,
	8n,
	127n,
	128n,
	255n,
	32_767n,
	65_536n,
	2n ** 31n - 1n,
	2n ** 31n,
	-(2n ** 31n),
	2n ** 32n - 1n,
	2n ** 53n,
	2n ** 62n,
	2n ** 63n - 1n,
	-(2n ** 63n),
	86_400_000_000n,
	0x7ff0_0000_0000_0000n,
];

export interface Mutated {
	bytes: Uint8Array;
	kinds: MutationKind[];
}

export function mutate(seed: Seed, corpus: readonly Seed[], prng: Prng): Mutated {
	let bytes = seed.bytes.slice();
	const kinds: MutationKind[] = [];
	const rounds = prng.chance(0.75) ? 1 : 1 + prng.below(4);
	for (let round = 0; round < rounds; round++) {
		const kind = prng.pick(wheel);
		kinds.push(kind);
		bytes = apply(kind, bytes, seed, corpus, prng);
	}
	return { bytes, kinds };
}

function apply(
	kind: MutationKind,
	bytes: Uint8Array<ArrayBuffer>,
	seed: Seed,
	corpus: readonly Seed[],
	prng: Prng,
): Uint8Array<ArrayBuffer> {
	const view = new DataView(bytes.buffer);
	const withBuffers = seed.messages.filter((message) => message.buffers.length > 0);
	switch (kind) {
		case "buffer value": {
			const buffer = pickBuffer(withBuffers, prng);
			if (buffer) writeValue(view, buffer.start, buffer.length, prng);
			return bytes;
		}
		case "buffer bits": {
			const buffer = pickBuffer(withBuffers, prng);
			for (let flips = 1 + prng.below(8); buffer && flips > 0; flips--) {
				const at = buffer.start + prng.below(buffer.length);
				if (at < bytes.length) bytes[at]! ^= 1 << prng.below(8);
			}
			return bytes;
		}
		case "count of a node or buffer": {
			if (withBuffers.length === 0) return bytes;
			const message = prng.pick(withBuffers);
			const at = prng.pick(message.counts);
			if (at + 8 > bytes.length) return bytes;
			const old = view.getBigInt64(at, true);
			const near = old + BigInt(prng.below(17) - 8);
			// A null count of 0 beside nulls is a lie of its own kind.
			const far = prng.chance(0.3) ? 0n : prng.chance(0.5) ? old * 2n : prng.pick(borders);
			const value = prng.chance(0.6) ? near : far;
			view.setBigInt64(at, BigInt.asIntN(64, value), true);
			return bytes;
		}
		case "buffers laid over each other": {
			if (withBuffers.length === 0) return bytes;
			// Of one batch, or of two: what is copied may lead beyond the body, too.
			const from = prng.pick(prng.pick(withBuffers).entries);
			const to = prng.pick(prng.pick(withBuffers).entries);
			if (Math.max(from, to) + 16 > bytes.length) return bytes;
			bytes.copyWithin(to, from, from + (prng.chance(0.5) ? 8 : 16));
			return bytes;
		}
		case "metadata word": {
			const range = pickMetadata(seed, bytes, prng);
			const at = range.start + 4 * prng.below(range.length >> 2);
			if (at + 4 > bytes.length) return bytes;
			const old = view.getInt32(at, true);
			const value = prng.chance(0.6)
				? old + prng.below(9) - 4
				: Number(prng.pick(borders) & 0xffff_ffffn);
			view.setInt32(at, value | 0, true);
			return bytes;
		}
		case "metadata byte": {
			const range = pickMetadata(seed, bytes, prng);
			const at = range.start + prng.below(range.length);
			if (at < bytes.length) bytes[at] = prng.chance(0.5) ? prng.below(32) : prng.below(256);
			return bytes;
		}
		case "any byte": {
			for (let times = 1 + prng.below(4); times > 0 && bytes.length > 0; times--) {
				bytes[prng.below(bytes.length)] = prng.below(256);
			}
			return bytes;
		}
		case "cut":
			return bytes.slice(0, prng.below(bytes.length + 1));
		case "messages dropped, doubled or swapped":
			return shuffleMessages(bytes, seed.messages, prng);
		case "splice of two": {
			const other = prng.pick(corpus);
			if (prng.chance(0.4)) return join(bytes, other.bytes);
			if (seed.messages.length === 0 || other.messages.length === 0) return bytes;
			const head = prng.pick(seed.messages).end;
			const tail = prng.pick(other.messages).start;
			return join(bytes.subarray(0, head), other.bytes.subarray(tail));
		}
		case "bytes put in or taken out": {
			const at = prng.below(bytes.length);
			const count = 1 + prng.below(16);
			if (prng.chance(0.5)) return join(bytes.subarray(0, at), bytes.subarray(at + count));
			const filler = new Uint8Array(count).map(() => prng.below(256));
			return join(bytes.subarray(0, at), filler, bytes.subarray(at));
		}
		case "nothing":
			return bytes;
	}
}

function pickBuffer(messages: MappedMessage[], prng: Prng) {
	return messages.length === 0 ? null : prng.pick(prng.pick(messages).buffers);
}

function pickMetadata(seed: Seed, bytes: Uint8Array, prng: Prng) {
	if (seed.messages.length === 0 || prng.chance(0.1)) return { start: 0, length: bytes.length };
	return prng.pick(seed.messages).metadata;
}

/** One element, of a width that a buffer may have, in some relation to what was there. */
function writeValue(view: DataView, start: number, length: number, prng: Prng): void {
	const width = prng.pick([1, 4, 4, 4, 8, 8, 16]);
	const count = Math.floor(length / width);
	if (count === 0 || start + length > view.byteLength) return;
	// The first and the last elements are where offsets and views begin and end.
	const index = prng.chance(0.3) ? (prng.chance(0.5) ? count - 1 : 0) : prng.below(count);
	const at = start + index * width;
	const border = prng.pick(borders);
	const delta = prng.below(17) - 8;
	const isNear = prng.chance(0.5);
	if (width === 1) {
		view.setUint8(at, isNear ? view.getUint8(at) + delta : Number(border & 0xffn));
	} else if (width === 4) {
		view.setInt32(
			at,
			isNear ? view.getInt32(at, true) + delta : Number(border & 0xffff_ffffn),
			true,
		);
	} else {
		const part = width === 16 && prng.chance(0.5) ? at + 8 : at;
		const value = isNear ? view.getBigInt64(part, true) + BigInt(delta) : border;
		view.setBigInt64(part, BigInt.asIntN(64, value), true);
	}
}

function shuffleMessages(
	bytes: Uint8Array<ArrayBuffer>,
	messages: readonly MappedMessage[],
	prng: Prng,
): Uint8Array<ArrayBuffer> {
	if (messages.length === 0 || messages.at(-1)!.end > bytes.length) return bytes;
	const parts = messages.map((message) => bytes.subarray(message.start, message.end));
	const at = prng.below(parts.length);
	const other = prng.below(parts.length);
	switch (prng.below(3)) {
		case 0:
			parts.splice(at, 1);
			break;
		case 1:
			parts.splice(other, 0, parts[at]!);
			break;
		default:
			[parts[at], parts[other]] = [parts[other]!, parts[at]!];
	}
	const head = bytes.subarray(0, messages[0]!.start);
	return join(head, ...parts, bytes.subarray(messages.at(-1)!.end));
}

function join(...parts: Uint8Array[]): Uint8Array<ArrayBuffer> {
	const joined = new Uint8Array(parts.reduce((total, part) => total + part.length, 0));
	let at = 0;
	for (const part of parts) {
		joined.set(part, at);
		at += part.length;
	}
	return joined;
}
