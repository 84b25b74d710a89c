import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { CheckedBatch, Field } from "../../../../src/arrow/types.ts";
import { IngestError } from "../../../../src/errors.ts";
import {
	describeField,
	openBatchStream,
	runWithBatches,
} from "../../../../src/insert/duckdb/native-stream.ts";

const int32: Field["type"] = { kind: "int", bits: 32, signed: true };

function field(name: string, type: Field["type"], more: Partial<Field> = {}): Field {
	return {
		name,
		nullable: true,
		type,
		children: [],
		dictionary: null,
		metadata: new Map(),
		...more,
	};
}

/** Integers from `from`, as check-batch would let them pass. */
function integers(from: number, length: number): CheckedBatch {
	const values = Int32Array.from({ length }, (_, i) => from + i);
	const buffers = [null, new Uint8Array(values.buffer)];
	const column = { length, nullCount: 0, buffers, children: [], dictionary: null };
	return { length, columns: [column] } as unknown as CheckedBatch;
}

let instance: DuckDBInstance;
let connection: DuckDBConnection;
let views = 0;
beforeAll(async () => {
	instance = await DuckDBInstance.create(":memory:");
	connection = await instance.connect();
});
afterAll(() => {
	connection.closeSync();
	instance.closeSync();
});

/** Makes a table and a view over a stream of one integer column; gives back the stream and the insert. */
async function intoNewTable(check = "true") {
	views += 1;
	const view = `incoming_${views}`;
	await connection.run(`CREATE OR REPLACE TABLE target (i INTEGER CHECK (${check}))`);
	const stream = openBatchStream([field("i", int32)], { copy: false, capacityBatches: 2 });
	stream.scan(connection, view);
	return {
		stream,
		insert: () => connection.run(`INSERT INTO target BY NAME SELECT * FROM ${view}`),
	};
}

async function count(): Promise<number> {
	return (
		await connection.runAndReadAll("SELECT count(*)::INTEGER FROM target")
	).getRows()[0]?.[0] as number;
}

describe("a statement with batches", () => {
	test("resolves as the statement does, with all rows", async () => {
		const { stream, insert } = await intoNewTable();
		const batches = async function* () {
			for (let i = 0; i < 20; i++) yield integers(i * 1000, 1000);
		};
		expect((await runWithBatches(stream, batches(), insert)).rowsChanged).toBe(20_000);
		expect(stream.isOpen).toBe(false);
		expect(await count()).toBe(20_000);
	});

	test("throws the error of its batches, not the statement's that follows from it, and inserts nothing", async () => {
		const { stream, insert } = await intoNewTable();
		const error = new IngestError("invalid_arrow", "batch 2 is wrong");
		const batches = async function* () {
			yield integers(0, 1000);
			yield integers(1000, 1000);
			throw error;
		};
		await expect(runWithBatches(stream, batches(), insert)).rejects.toBe(error);
		expect(await count()).toBe(0);
	});

	test("throws the statement's error and reads no further batch", async () => {
		const { stream, insert } = await intoNewTable("i < 5000");
		let read = 0;
		const batches = async function* () {
			for (; read < 100_000; read++) yield integers(read * 1000, 1000);
		};
		await expect(runWithBatches(stream, batches(), insert)).rejects.toThrow("CHECK constraint");
		const atTheError = read;
		expect(atTheError).toBeLessThan(100_000);
		await new Promise((resolve) => setTimeout(resolve, 20));
		expect(read).toBeLessThanOrEqual(atTheError + 1);
	});

	test("doesn't wait for batches that hang once the statement has failed", async () => {
		const { stream } = await intoNewTable();
		const batches = async function* () {
			yield integers(0, 1);
			await new Promise(() => {});
		};
		const failing = runWithBatches(stream, batches(), () =>
			connection.run("SELECT error('early')"),
		);
		await expect(failing).rejects.toThrow("early");
	});
});

describe("a field is described", () => {
	test("with its format, nullability and metadata", () => {
		const metadata = new Map([["k", Uint8Array.of(0xff)]]);
		const { metadata: encoded, ...rest } = describeField(
			field("n", int32, { nullable: false, metadata }),
		);
		expect(rest).toEqual({ name: "n", format: "i", flags: 0, children: [], dictionary: null });
		expect([...(encoded ?? [])]).toEqual([1, 0, 0, 0, 1, 0, 0, 0, 0x6b, 1, 0, 0, 0, 0xff]);
	});

	test("by its indices with the values inside, where it is dictionary-encoded", () => {
		const item = field("item", { kind: "utf8" });
		const dictionary = {
			id: 7n,
			indexType: { kind: "int", bits: 16, signed: false } as const,
			ordered: true,
		};
		expect(describeField(field("d", { kind: "list" }, { children: [item], dictionary }))).toEqual({
			name: "d",
			format: "S",
			flags: 3,
			metadata: null,
			children: [],
			dictionary: {
				name: "",
				format: "+l",
				flags: 2,
				metadata: null,
				children: [describeField(item)],
				dictionary: null,
			},
		});
	});
});
