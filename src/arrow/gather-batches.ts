/**
 * Many small record batches out of one chunk at once.
 *
 * A batch of a hundred rows costs its message, not its bytes: framing, verifying, an array and views for
 * each column, a check of each, and a join in the end. Here messages that lie whole in the chunk at hand are
 * joined where they lie, and what comes out is checked and converted once.
 *
 * In: the bytes at hand, after a record batch that went the long way (message-stream.ts, record-batch.ts).
 * Out: the messages from there on that repeat its layout and whose sizes are right, as one unchecked
 * batch; null where there aren't two. Whatever is odd ends the run before it and goes
 * the long way, which says what is wrong with it.
 *
 * Nothing is decided here about values, and no fault is told: the joined batch is checked as any other, and
 * where it doesn't pass, or can't be converted, its messages are read again, each `apart`, so that the
 * fault is found where and as it would have been.
 */

import { rowGroupRows } from "../limits.ts";
import { bitmapBytes } from "./array/bitmap.ts";
import { type GatherOptions, gatherArray, type MessageRun } from "./array/gather-arrays.ts";
import { type GatherPlan, gatherPlan } from "./array/gather-plan.ts";
import type { JoinMemory } from "./array/join-memory.ts";
import { MessageSizes } from "./array/message-sizes.ts";
import { RunBuffers, sizeAt } from "./array/run-buffers.ts";
import type { BatchMemory } from "./batch-memory.ts";
import type { BodyCodec } from "./body-compression.ts";
import type { ArrayData, Field } from "./types.ts";
import { BatchTemplate } from "./wire/batch-template.ts";

/** Marker and length of the metadata. */
const prefixBytes = 8;
/** Of all nodes of a run; more than a chunk's bits only where arrays take no bytes. */
const maxElements = 16 * 1024 * 1024;

export interface GatheredRun {
	length: number;
	columns: ArrayData[];
	/** What the columns lie in; null: nothing that is used again. */
	memory: BatchMemory | null;
	/** Messages, and bytes of all of them with prefix, metadata and body. */
	count: number;
	byteLength: number;
	bodyBytes: number;
	/** Message `i` of the run: where in the bytes its prefix, metadata and body begin, and where it ends. */
	message(i: number): { at: number; metadataAt: number; bodyAt: number; end: number };
}

export interface GatherTools extends GatherOptions {
	/** For about so many bytes of arrays. */
	memoryFor(size: number): JoinMemory;
}

export interface GatherLimits {
	maxBatchBytes: number;
	/** May a message of these sizes, so many bytes on, be taken. Asked in their order, and not about what comes after a no. */
	takes?(at: number, metadataLength: number, bodyLength: number): boolean;
}

export class BatchGatherer {
	readonly #fields: readonly Field[];
	readonly #buffers = new RunBuffers();
	/** False: a type is among the fields that isn't joined. */
	#isOn = true;
	#template: BatchTemplate | null = null;
	/** Of the template. */
	#plan: GatherPlan | null = null;
	#sizes: MessageSizes | null = null;
	#codec: BodyCodec | null = null;
	/** Metadata of the last batch that went the long way; null: it is the template's, or has none. */
	#latest: Uint8Array | null = null;
	#latestBytes = 0;

	constructor(fields: readonly Field[]) {
		this.#fields = fields;
	}

	/** A record batch was decoded: those after it may be like it. `metadata` stays as it is, and names `codec`. */
	sawBatch(metadata: Uint8Array, bodyBytes: number, codec: BodyCodec | null): void {
		if (!this.#isOn) return;
		this.#latest = metadata;
		this.#latestBytes = prefixBytes + metadata.byteLength + bodyBytes;
		this.#codec = codec;
	}

	/** What can be taken from the beginning of `bytes`; null: fewer than two messages. */
	gather(bytes: Uint8Array, limits: GatherLimits, tools: GatherTools): GatheredRun | null {
		// No look at what can't be two messages: larger batches come here once each.
		if (!this.#isOn || bytes.byteLength < this.#latestBytes) return null;
		this.#findTemplate();
		const template = this.#template;
		const plan = this.#plan;
		const sizes = this.#sizes;
		if (template === null || plan === null || sizes === null) return null;
		const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
		const { metadataBytes } = template;
		const buffers = this.#buffers;
		buffers.begin(bytes, view, this.#codec);
		const starts: number[] = [];
		let rows = 0;
		let elements = 0;
		let bodies = 0;
		let at = 0;
		while (at + prefixBytes + metadataBytes <= bytes.byteLength) {
			if (view.getInt32(at, true) !== -1 || view.getInt32(at + 4, true) !== metadataBytes) break;
			const start = at + prefixBytes;
			if (!template.matches(view, start)) break;
			const bodyBytes = sizeAt(view, start + template.bodyLengthAt);
			const body = start + metadataBytes;
			const end = body + bodyBytes;
			const length = sizeAt(view, start + template.rowsAt);
			if (bodyBytes < 0 || end > bytes.byteLength || bodyBytes > limits.maxBatchBytes) break;
			if (length < 0 || rows + length > rowGroupRows || length > limits.maxBatchBytes) break;
			const m = starts.length;
			const entries = start + template.buffersAt;
			const { codecs } = tools;
			const unpackedBefore = buffers.unpackedBytes;
			if (!buffers.add(m, template.bufferCount, view, entries, body, bodyBytes, codecs)) break;
			if (buffers.unpackedBytes - unpackedBefore > limits.maxBatchBytes) break;
			const found = sizes.elementsOf(view, start + template.nodesAt, m, length);
			elements += found;
			if (found < 0 || elements > maxElements) break;
			if (limits.takes?.(at, prefixBytes + metadataBytes, bodyBytes) === false) break;
			starts.push(start);
			rows += length;
			bodies += bodyBytes;
			at = end;
		}
		if (starts.length < 2) return null;
		const { values, view: valuesView, places } = buffers;
		const { codecs, memory } = tools.memoryFor(
			(buffers.unpackedBytes || bodies) + spareBytes(plan, elements),
		);
		const options = { codecs, dictionaryOf: tools.dictionaryOf };
		const run: MessageRun = {
			view,
			template,
			starts,
			values,
			valuesView,
			places,
			sizes: buffers.sizes,
		};
		const end = at;
		return {
			length: rows,
			columns: plan.columns.map((node) => gatherArray(run, node, options)),
			memory,
			count: starts.length,
			byteLength: end,
			bodyBytes: bodies,
			message: (i) => ({
				at: starts[i]! - prefixBytes,
				metadataAt: starts[i]!,
				bodyAt: starts[i]! + metadataBytes,
				end: i + 1 < starts.length ? starts[i + 1]! - prefixBytes : end,
			}),
		};
	}

	#findTemplate(): void {
		const metadata = this.#latest;
		if (metadata === null) return;
		this.#latest = null;
		const view = new DataView(metadata.buffer, metadata.byteOffset, metadata.byteLength);
		const isSame =
			this.#template?.metadataBytes === metadata.byteLength && this.#template.matches(view, 0);
		if (isSame) return;
		this.#template = BatchTemplate.of(metadata);
		if (this.#template === null) return;
		const plan = gatherPlan(this.#fields, this.#template.variadicCounts);
		this.#isOn = plan !== null;
		const { nodeCount, bufferCount } = this.#template;
		if (plan?.nodes.length !== nodeCount || plan.bufferCount !== bufferCount) this.#template = null;
		this.#plan = plan;
		this.#sizes = plan === null ? null : new MessageSizes(plan, this.#buffers);
	}
}

/** For what lies between buffers, and bitmaps that not all messages have. */
function spareBytes({ bufferCount }: GatherPlan, elements: number): number {
	return bufferCount * 64 + bitmapBytes(elements);
}
