import { Message } from "apache-arrow/fb/message";
import { RecordBatch } from "apache-arrow/fb/record-batch";
import { ByteBuffer } from "flatbuffers";
import { describe, expect, it } from "vitest";
import { BatchTemplate, structBytes } from "../../../../src/arrow/wire/batch-template.ts";
import { verifyMessage } from "../../../../src/arrow/wire/flatbuffer-verify.ts";
import { createPrng, type Prng } from "../../../fuzz/prng.ts";
import { arrayOf, field, int } from "../support/arrays.ts";
import { type WriteOptions, writeBatch } from "../support/write-ipc.ts";

const n = field("n", int(32));
const v = field("v", { kind: "utf8_view" });

function metadataOf(rows: number, options: WriteOptions = {}): Uint8Array {
	const texts = Array.from({ length: rows }, (_, i) => `a text of more than twelve bytes ${i}`);
	const columns = [arrayOf(n, [...texts.keys()]), arrayOf(v, texts)];
	const bytes = writeBatch([n, v], columns, options);
	return bytes.slice(8, 8 + new DataView(bytes.buffer).getInt32(4, true));
}

const viewOf = (bytes: Uint8Array) => new DataView(bytes.buffer, bytes.byteOffset);

/** Where the numbers of a template lie, as [from, to). */
const numbersOf = (template: BatchTemplate) => [
	[template.bodyLengthAt, template.bodyLengthAt + 8],
	[template.rowsAt, template.rowsAt + 8],
	[template.nodesAt, template.nodesAt + structBytes * template.nodeCount],
	[template.buffersAt, template.buffersAt + structBytes * template.bufferCount],
];

/** What is read of a message but its numbers. */
function structureOf(metadata: Uint8Array): unknown {
	const message = Message.getRootAsMessage(new ByteBuffer(metadata));
	const batch = message.header(new RecordBatch()) as RecordBatch;
	const compression = batch.compression();
	return {
		version: message.version(),
		type: message.headerType(),
		pairs: message.customMetadataLength(),
		nodes: batch.nodesLength(),
		buffers: batch.buffersLength(),
		variadic: Array.from({ length: batch.variadicBufferCountsLength() }, (_, i) =>
			batch.variadicBufferCounts(i),
		),
		compression: compression && [compression.codec(), compression.method()],
	};
}

describe("the layout of a record batch's metadata", () => {
	it("is that of batches which differ in numbers", () => {
		const template = BatchTemplate.of(metadataOf(3))!;
		expect([template.nodeCount, template.bufferCount]).toEqual([2, 5]);
		expect(template.variadicCounts).toEqual([1]);
		const other = metadataOf(1_000);
		expect(template.metadataBytes).toBe(other.byteLength);
		expect(template.matches(viewOf(other), 0)).toBe(true);
		const view = viewOf(other);
		expect(view.getInt32(template.rowsAt, true)).toBe(1_000);
		expect(view.getInt32(template.nodesAt, true)).toBe(1_000);
	});

	it("is not that of bytes with any other difference", () => {
		const metadata = metadataOf(3);
		const template = BatchTemplate.of(metadata)!;
		for (let at = 0; at < metadata.byteLength; at++) {
			const changed = metadata.slice();
			changed[at]! ^= 0x10;
			const isNumber = numbersOf(template).some(([from, to]) => at >= from! && at < to!);
			expect([at, template.matches(viewOf(changed), 0)]).toEqual([at, isNumber]);
		}
	});

	it("names the codec with the rest, and is none where the message has metadata of its own", () => {
		const compress = () => null;
		const zstd = metadataOf(3, { compression: { codec: 1, compress } });
		const template = BatchTemplate.of(zstd)!;
		expect(template.matches(viewOf(zstd), 0)).toBe(true);
		const lz4 = metadataOf(3, { compression: { codec: 0, compress } });
		expect(lz4.byteLength !== zstd.byteLength || !template.matches(viewOf(lz4), 0)).toBe(true);
		expect(BatchTemplate.of(metadataOf(3, { metadata: { key: "value" } }))).toBe(null);
	});

	it("is none where a number is read as structure too: whatever the numbers, the tables stay as they are", () => {
		const sent = metadataOf(3, { compression: { codec: 1, compress: () => null } });
		const seen = { withTemplate: 0, without: 0 };
		for (let seed = 0; seed < 6_000; seed++) {
			const random = createPrng(5, seed);
			const metadata = changed(sent, random);
			try {
				verifyMessage(metadata);
			} catch {
				continue;
			}
			const message = Message.getRootAsMessage(new ByteBuffer(metadata));
			if ((message.headerType() as number) !== 3) continue;
			if (message.header(new RecordBatch()) === null) continue;
			const template = BatchTemplate.of(metadata);
			if (template === null) {
				seen.without++;
				continue;
			}
			seen.withTemplate++;
			const other = metadata.slice();
			for (const [from, to] of numbersOf(template)) {
				for (let at = from!; at < to!; at++) other[at] = random.below(256);
			}
			expect(template.matches(viewOf(other), 0)).toBe(true);
			expect(() => verifyMessage(other)).not.toThrow();
			expect([seed, structureOf(other)]).toEqual([seed, structureOf(metadata)]);
		}
		expect(seen.withTemplate).toBeGreaterThan(500);
		expect(seen.without).toBeGreaterThan(50);
	});
});

/** Small numbers in one or two places, as offsets and sizes are: many of them move a table or a vector over another. */
function changed(sent: Uint8Array, random: Prng): Uint8Array {
	const metadata = sent.slice();
	for (let times = random.below(2); times >= 0; times--) {
		const at = random.below(metadata.byteLength / 2) * 2;
		viewOf(metadata).setUint16(at, random.below(64) * 2, true);
	}
	return metadata;
}
