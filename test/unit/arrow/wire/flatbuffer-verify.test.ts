import { Field } from "apache-arrow/fb/field";
import { Message } from "apache-arrow/fb/message";
import { Schema } from "apache-arrow/fb/schema";
import { Struct_ } from "apache-arrow/fb/struct-";
import { Builder } from "flatbuffers";
import { describe, expect, test } from "vitest";
import { readSource } from "../../../../src/arrow/read-source.ts";
import { verifyMessage } from "../../../../src/arrow/wire/flatbuffer-verify.ts";
import { IngestError } from "../../../../src/errors.ts";
import { defaultLimits } from "../../../../src/limits.ts";
import { nodeCodecs } from "../../../../src/replay/node-codecs.ts";
import { arrayOf, field, int } from "../support/arrays.ts";
import { errorOf, readBack, sourceOf } from "../support/read-ipc.ts";
import {
	concat,
	endOfStream,
	frameMetadata,
	writeSchema,
	writeStream,
} from "../support/write-ipc.ts";

const fields = [
	field(
		"a",
		{ kind: "struct" },
		{ children: [field("x", int(32)), field("y", { kind: "timestamp", unit: "us", zone: "UTC" })] },
	),
	field(
		"d",
		{ kind: "utf8" },
		{
			dictionary: { id: 3n, indexType: int(8), ordered: false },
			metadata: new Map([["k", Uint8Array.of(1)]]),
		},
	),
	field(
		"u",
		{ kind: "union", mode: "dense", typeIds: [0, 1] },
		{ children: [field("p", int(8)), field("q", { kind: "utf8" })] },
	),
];
const metadata = writeSchema(fields).subarray(8);

describe("verifying metadata", () => {
	test("what writers write passes", () => {
		expect(() => verifyMessage(metadata)).not.toThrow();
	});

	test("every single damaged byte gives a schema or an IngestError, never another error", async () => {
		const outcomes = { read: 0, refused: 0 };
		for (let at = 0; at < metadata.byteLength; at++) {
			for (const value of [0, 1, 4, 0x7f, 0x80, 0xff]) {
				const damaged = metadata.slice();
				damaged[at] = value;
				try {
					await readBack(concat(frameMetadata(damaged), endOfStream));
					outcomes.read++;
				} catch (error) {
					if (!(error instanceof IngestError)) throw error;
					outcomes.refused++;
				}
			}
		}
		expect(outcomes.read).toBeGreaterThan(100);
		expect(outcomes.refused).toBeGreaterThan(1000);
	});

	test("every cut of the metadata is invalid_arrow", () => {
		// The padding at the end belongs to nothing.
		for (let cut = 0; cut < metadata.byteLength - 8; cut++) {
			expect(() => verifyMessage(metadata.slice(0, cut))).toThrow(
				expect.objectContaining({ code: "invalid_arrow" }),
			);
		}
	});

	test("a schema whose fields share their children, 2 to the power of 60 in all, is refused at once", async () => {
		const b = new Builder();
		Struct_.startStruct_(b);
		const type = Struct_.endStruct_(b);
		const name = b.createString("f");
		let child = 0;
		for (let level = 0; level < 60; level++) {
			const children = Field.createChildrenVector(b, child === 0 ? [] : [child, child]);
			Field.startField(b);
			Field.addName(b, name);
			Field.addTypeType(b, 13);
			Field.addType(b, type);
			Field.addChildren(b, children);
			child = Field.endField(b);
		}
		const vector = Schema.createFieldsVector(b, [child]);
		Schema.startSchema(b);
		Schema.addFields(b, vector);
		const schema = Schema.endSchema(b);
		b.finish(Message.createMessage(b, 4, 1, schema, 0n, 0));
		const start = process.cpuUsage();
		const error = await errorOf(readBack(concat(frameMetadata(b.asUint8Array()), endOfStream)));
		expect(error.code).toBe("invalid_arrow");
		expect(error.message).toContain("more tables than its bytes can hold");
		expect(process.cpuUsage(start).user / 1000).toBeLessThan(2000);
	});

	test("batches whose metadata is damaged in any byte give rows or an IngestError", async () => {
		const plain = [field("n", int(32)), field("s", { kind: "utf8_view" })];
		const columns = [
			arrayOf(plain[0]!, [1, null]),
			arrayOf(plain[1]!, ["x", "a text longer than a view"]),
		];
		const head = writeSchema(plain);
		const stream = writeStream(plain, [columns]);
		let refused = 0;
		for (let at = head.byteLength; at < stream.byteLength - 8; at++) {
			for (const value of [0, 3, 0x7f, 0xff]) {
				const damaged = stream.slice();
				damaged[at] = value;
				try {
					const events = readSource(sourceOf(damaged), {
						limits: defaultLimits,
						codecs: nodeCodecs,
						requireEos: false,
						signal: new AbortController().signal,
						onChunk() {},
						warn() {},
					});
					for await (const event of events) expect(event.kind).toMatch(/schema|batch/);
				} catch (error) {
					if (!(error instanceof IngestError)) throw error;
					refused++;
				}
			}
		}
		expect(refused).toBeGreaterThan(200);
	});
});
