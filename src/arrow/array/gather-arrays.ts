/**
 * Joins the arrays of record batches where they lie one after the other in a chunk, straight out of
 * their bodies: no array, view or body is made of any of them. Compressed ones were unpacked side by side before.
 *
 * In: messages whose sizes `gather-batches.ts` found right: every buffer inside its body and as long
 * as its array needs, first and last offsets and long views inside their data. Out: for each column one array in memory of
 * its own, not yet checked. What offsets, indices and values say is copied as it is, only that offsets are moved:
 * by the same number within a batch and in the same bits, so that one which was wrong (below the one before it,
 * or beyond the batch's last) is wrong after it.
 */

import type { Codecs } from "../codecs.ts";
import type { ArrayData, Field } from "../types.ts";
import type { BatchTemplate } from "../wire/batch-template.ts";
import { structBytes } from "../wire/batch-template.ts";
import { allocateBitmap } from "./bitmap.ts";
import { int32View } from "./buffer-views.ts";
import { copyBits } from "./concat-buffers.ts";
import { maxInlineBytes, viewBytes } from "./concat-references.ts";
import type { GatherNode } from "./gather-plan.ts";
import type { OffsetWidth } from "./offsets.ts";

/** Messages of one layout. */
export interface MessageRun {
	/** Of the bytes that their metadata lies in, and where each begins there. */
	view: DataView;
	template: BatchTemplate;
	starts: readonly number[];
	/** What their buffers lie in, unpacked. */
	values: Uint8Array;
	valuesView: DataView;
	/** Of message m and its buffer b, at m * `template.bufferCount` + b: where it begins in `values`, and its bytes. */
	places: Int32Array;
	sizes: Int32Array;
}

export interface GatherOptions {
	codecs: Codecs;
	dictionaryOf(field: Field, nullCount: number, length: number, path: string): ArrayData | null;
}

export function gatherArray(run: MessageRun, node: GatherNode, options: GatherOptions): ArrayData {
	const { field, layout } = node;
	let length = 0;
	let nullCount = 0;
	for (let m = 0; m < run.starts.length; m++) {
		length += nodeLength(run, m, node);
		nullCount += nodeNulls(run, m, node);
	}
	const buffers = nullCount === 0 ? [null] : [joinBits(run, node, 0, length, options.codecs)];
	const array: ArrayData = { length, nullCount, buffers, children: [], dictionary: null };
	switch (layout.kind) {
		case "null":
			array.buffers = [];
			break;
		case "bits":
			array.buffers.push(joinBits(run, node, 1, length, options.codecs));
			break;
		case "fixed":
			array.buffers.push(joinFixed(run, node, length, layout.width, options.codecs));
			break;
		case "strings":
			array.buffers.push(
				joinOffsets(run, node, length, layout.width, options.codecs),
				joinData(run, node, layout.width, options.codecs),
			);
			break;
		case "views":
			array.buffers.push(...joinViews(run, node, length, layout.dataBuffers, options.codecs));
			break;
		case "lists":
			array.buffers.push(joinOffsets(run, node, length, layout.width, options.codecs));
			break;
		case "parent":
			break;
	}
	if (field.dictionary !== null) {
		array.dictionary = options.dictionaryOf(field, nullCount, length, node.path);
	}
	for (const child of node.children) array.children.push(gatherArray(run, child, options));
	return array;
}

function nodeLength({ view, template, starts }: MessageRun, m: number, node: GatherNode): number {
	return view.getInt32(starts[m]! + template.nodesAt + structBytes * node.index, true);
}

function nodeNulls({ view, template, starts }: MessageRun, m: number, node: GatherNode): number {
	return view.getInt32(starts[m]! + template.nodesAt + structBytes * node.index + 8, true);
}

/** Where buffer `at` of the node begins in `values`. */
function placeOf(run: MessageRun, m: number, node: GatherNode, at: number): number {
	return run.places[m * run.template.bufferCount + node.firstBuffer + at]!;
}

/** An absent bitmap is all ones. */
function joinBits(
	run: MessageRun,
	node: GatherNode,
	buffer: number,
	length: number,
	codecs: Codecs,
): Uint8Array {
	const target = allocateBitmap(length, codecs);
	let at = 0;
	for (let m = 0; m < run.starts.length; m++) {
		const count = nodeLength(run, m, node);
		const isThere = run.sizes[m * run.template.bufferCount + node.firstBuffer + buffer]! > 0;
		const from = isThere ? placeOf(run, m, node, buffer) * 8 : 0;
		copyBits(target, at, isThere ? run.values : null, from, count);
		at += count;
	}
	return target;
}

function joinFixed(
	run: MessageRun,
	node: GatherNode,
	length: number,
	width: number,
	codecs: Codecs,
): Uint8Array {
	const target = codecs.allocate(length * width);
	let at = 0;
	for (let m = 0; m < run.starts.length; m++) {
		const count = nodeLength(run, m, node) * width;
		if (count === 0) continue;
		const from = placeOf(run, m, node, 1);
		target.set(run.values.subarray(from, from + count), at);
		at += count;
	}
	return target;
}

function joinOffsets(
	run: MessageRun,
	node: GatherNode,
	length: number,
	width: OffsetWidth,
	codecs: Codecs,
): Uint8Array {
	const { valuesView: view } = run;
	const target = codecs.allocate((length + 1) * width);
	const words = int32View(target);
	const step = width / 4;
	let word = 0;
	let base = 0;
	for (let m = 0; m < run.starts.length; m++) {
		const count = nodeLength(run, m, node);
		if (count === 0) continue;
		const from = placeOf(run, m, node, 1);
		const shift = base - view.getInt32(from, true);
		// Of 64 bits the upper ones are zeros, or are found to be wrong where they were.
		for (let at = from, end = from + count * width; at < end; at += width) {
			words[word] = view.getInt32(at, true) + shift;
			if (width === 8) words[word + 1] = view.getInt32(at + 4, true);
			word += step;
		}
		base = shift + view.getInt32(from + count * width, true);
	}
	words[word] = base;
	if (width === 8) words[word + 1] = 0;
	return target;
}

/** What the offsets of each message reach, from its first to its last. */
function joinData(
	run: MessageRun,
	node: GatherNode,
	width: OffsetWidth,
	codecs: Codecs,
): Uint8Array {
	const { values, valuesView: view } = run;
	let total = 0;
	for (let m = 0; m < run.starts.length; m++) {
		const count = nodeLength(run, m, node);
		const offsets = placeOf(run, m, node, 1);
		if (count > 0) {
			total += view.getInt32(offsets + count * width, true) - view.getInt32(offsets, true);
		}
	}
	const target = codecs.allocate(total);
	let at = 0;
	for (let m = 0; m < run.starts.length; m++) {
		const count = nodeLength(run, m, node);
		if (count === 0) continue;
		const offsets = placeOf(run, m, node, 1);
		const first = view.getInt32(offsets, true);
		const last = view.getInt32(offsets + count * width, true);
		if (last === first) continue;
		const data = placeOf(run, m, node, 2);
		target.set(values.subarray(data + first, data + last), at);
		at += last - first;
	}
	return target;
}

/** All data buffers become one, in their order, which the views point into. */
function joinViews(
	run: MessageRun,
	node: GatherNode,
	length: number,
	dataBuffers: number,
	codecs: Codecs,
): Uint8Array[] {
	const { values, valuesView: view } = run;
	const count = run.template.bufferCount;
	const firstData = node.firstBuffer + 2;
	let total = 0;
	for (let m = 0; m < run.starts.length; m++) {
		for (let b = 0; b < dataBuffers; b++) total += run.sizes[m * count + firstData + b]!;
	}
	const views = codecs.allocate(length * viewBytes);
	const words = int32View(views);
	const data = codecs.allocate(total);
	const bases = new Int32Array(dataBuffers);
	let word = 0;
	let at = 0;
	for (let m = 0; m < run.starts.length; m++) {
		for (let b = 0; b < dataBuffers; b++) {
			const size = run.sizes[m * count + firstData + b]!;
			const place = run.places[m * count + firstData + b]!;
			data.set(values.subarray(place, place + size), at);
			bases[b] = at;
			at += size;
		}
		const from = placeOf(run, m, node, 1);
		const end = from + nodeLength(run, m, node) * viewBytes;
		for (let source = from; source < end; source += viewBytes, word += 4) {
			for (let w = 0; w < 4; w++) words[word + w] = view.getInt32(source + 4 * w, true);
			if (words[word]! <= maxInlineBytes) continue;
			words[word + 3]! += bases[words[word + 2]!]!;
			words[word + 2] = 0;
		}
	}
	return total === 0 ? [views] : [views, data];
}
