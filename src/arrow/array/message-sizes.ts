/**
 * Are the sizes of a message right: what must be known before its arrays are joined where they lie.
 *
 * In: a message's nodes, and its buffers inside its body or unpacked (run-buffers.ts). Out: how many elements
 * all its arrays have; or -1, where a child has more or fewer than its parent asks for, a buffer is too short,
 * a count of nulls doesn't go with its bitmap, or offsets and views point outside their data. Of
 * offsets only the first and the last are looked at: the joined array is checked later.
 *
 * Right arrays may be odd here too, such as a child with elements that no list shows; they go the long way.
 */

import { structBytes } from "../wire/batch-template.ts";
import { bitmapBytes } from "./bitmap.ts";
import { maxInlineBytes, viewBytes } from "./concat-references.ts";
import type { GatherNode, GatherPlan } from "./gather-plan.ts";
import type { OffsetWidth } from "./offsets.ts";
import { type RunBuffers, sizeAt } from "./run-buffers.ts";

export class MessageSizes {
	readonly #plan: GatherPlan;
	readonly #buffers: RunBuffers;
	/** Of the message looked at: each node's elements, and those its offsets reach. */
	readonly #lengths: Float64Array;
	readonly #reached: Float64Array;

	constructor(plan: GatherPlan, buffers: RunBuffers) {
		this.#plan = plan;
		this.#buffers = buffers;
		this.#lengths = new Float64Array(plan.nodes.length);
		this.#reached = new Float64Array(plan.nodes.length);
	}

	/** Elements of all nodes of message `m`, whose structs begin at `nodesAt` of `view`; -1: something is odd. */
	elementsOf(view: DataView, nodesAt: number, m: number, rows: number): number {
		const { nodes, bufferCount } = this.#plan;
		let elements = 0;
		for (let i = 0; i < nodes.length; i++) {
			const node = nodes[i]!;
			const { parent, perParent } = node;
			const length = sizeAt(view, nodesAt + structBytes * i);
			const nulls = sizeAt(view, nodesAt + structBytes * i + 8);
			let expected = rows;
			if (parent >= 0) {
				expected = perParent === null ? this.#reached[parent]! : this.#lengths[parent]! * perParent;
			}
			if (length !== expected || nulls < 0 || nulls > length) return -1;
			this.#lengths[i] = length;
			elements += length;
			if (node.layout.kind === "null") continue;
			const buffer = m * bufferCount + node.firstBuffer;
			if (!validityFits(this.#buffers, buffer, length, nulls)) return -1;
			if (!this.#valuesFit(node, buffer + 1, length)) return -1;
		}
		return elements;
	}

	/** `buffer` is the one after validity. */
	#valuesFit({ layout, index }: GatherNode, buffer: number, length: number): boolean {
		const { view, places, sizes } = this.#buffers;
		const place = places[buffer]!;
		const size = sizes[buffer]!;
		switch (layout.kind) {
			case "bits":
				return size >= bitmapBytes(length);
			case "fixed":
				return size >= length * layout.width;
			case "strings": {
				if (length === 0 && size < layout.width) return true;
				if (size < (length + 1) * layout.width) return false;
				const first = offsetAt(view, place, layout.width);
				const last = offsetAt(view, place + length * layout.width, layout.width);
				return first >= 0 && first <= last && last <= sizes[buffer + 1]!;
			}
			case "views":
				return (
					size >= length * viewBytes && viewsFit(this.#buffers, buffer, length, layout.dataBuffers)
				);
			case "lists": {
				this.#reached[index] = 0;
				if (length === 0 && size < layout.width) return true;
				if (size < (length + 1) * layout.width) return false;
				// A child's elements before the first list and after the last go the long way.
				if (offsetAt(view, place, layout.width) !== 0) return false;
				const last = offsetAt(view, place + length * layout.width, layout.width);
				this.#reached[index] = last;
				return last >= 0;
			}
			default:
				return true;
		}
	}
}

/** Nulls need a bitmap, and a bitmap beside a count of zero must have none. */
function validityFits(
	{ view, places, sizes }: RunBuffers,
	buffer: number,
	length: number,
	nulls: number,
): boolean {
	if (sizes[buffer] === 0) return nulls === 0;
	if (sizes[buffer]! < bitmapBytes(length)) return false;
	return nulls > 0 || allOnes(view, places[buffer]!, length);
}

/** Long ones point inside a data buffer, also under nulls: they will be moved. */
function viewsFit(
	{ view, places, sizes }: RunBuffers,
	buffer: number,
	length: number,
	dataBuffers: number,
): boolean {
	const end = places[buffer]! + length * viewBytes;
	for (let at = places[buffer]!; at < end; at += viewBytes) {
		const size = view.getInt32(at, true);
		if (size >= 0 && size <= maxInlineBytes) continue;
		const index = view.getInt32(at + 8, true);
		const offset = view.getInt32(at + 12, true);
		if (size < 0 || index < 0 || index >= dataBuffers || offset < 0) return false;
		if (offset > sizes[buffer + 1 + index]! - size) return false;
	}
	return true;
}

function allOnes(view: DataView, at: number, length: number): boolean {
	const whole = length >>> 3;
	for (let i = 0; i < whole; i++) if (view.getUint8(at + i) !== 0xff) return false;
	const rest = (1 << (length & 7)) - 1;
	return rest === 0 || (view.getUint8(at + whole) & rest) === rest;
}

/** Negative for what an int32 can't hold. */
function offsetAt(view: DataView, at: number, width: OffsetWidth): number {
	return width === 4 ? view.getInt32(at, true) : sizeAt(view, at);
}
