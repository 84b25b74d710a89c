import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type BatchDescription, RecordBatchStream } from "../index.js";
import { array, batch, bytes, dictionary, field, int32s, lists, utf8s } from "./arrays.ts";

let instance: DuckDBInstance;
let connection: DuckDBConnection;
let view = "";
let views = 0;

beforeAll(async () => {
	instance = await DuckDBInstance.create(":memory:");
	connection = await instance.connect();
});
beforeEach(async () => {
	views += 1;
	view = `incoming_${views}`;
	await connection.run("CREATE OR REPLACE TABLE target (i INTEGER)");
});
afterAll(() => {
	connection.closeSync();
	instance.closeSync();
});

const insert = () => connection.run(`INSERT INTO target SELECT * FROM ${view}`);

async function rowsOfTarget(): Promise<number> {
	const reader = await connection.runAndReadAll("SELECT count(*)::INTEGER FROM target");
	return reader.getRows()[0]?.[0] as number;
}

/** A batch of `rows` integers in one ArrayBuffer. */
function integers(rows: number, from = 0): BatchDescription {
	return batch(array(rows, [null, Int32Array.from({ length: rows }, (_, i) => from + i)]));
}

/** Resolves with what happened first: the promise's value, or "late" after `milliseconds`. */
function within<T>(promise: Promise<T>, milliseconds: number): Promise<T | "late"> {
	return Promise.race([
		promise,
		new Promise<"late">((resolve) => setTimeout(resolve, milliseconds, "late")),
	]);
}

const sleep = (milliseconds: number) =>
	new Promise<void>((resolve) => setTimeout(resolve, milliseconds));

/** Keeps this thread busy, as a long computation would. */
function blockEventLoop(milliseconds: number): void {
	const until = performance.now() + milliseconds;
	while (performance.now() < until);
}

describe("a push", () => {
	test("waits while the queue is full and goes on when DuckDB fetched a batch", async () => {
		const stream = new RecordBatchStream([field("i", "i")], { capacityBatches: 2 });
		expect(await stream.push(integers(1))).toBe(true);
		const second = stream.push(integers(1));
		expect(await within(second, 20)).toBe("late");
		stream.scan(connection, view);
		const inserted = insert();
		expect(await second).toBe(true);
		stream.end();
		expect((await inserted).rowsChanged).toBe(2);
		stream.close();
	});

	test("waits for bytes as for batches, and one batch of any size is taken", async () => {
		const stream = new RecordBatchStream([field("i", "i")], { capacityBytes: 1000 });
		const first = stream.push(integers(10_000));
		expect(await within(first, 20)).toBe("late");
		expect(stream.counts).toMatchObject({ batchesQueued: 1, bytesAlive: 40_000 });
		stream.close();
		expect(await first).toBe(false);
	});

	test.each(["close", "fail"] as const)(
		"that waits is told when the stream is ended by %s",
		async (way) => {
			const stream = new RecordBatchStream([field("i", "i")], { capacityBatches: 1 });
			const waiting = stream.push(integers(1));
			stream[way]("no more");
			expect(await waiting).toBe(false);
			expect(await stream.push(integers(1))).toBe(false);
			expect(await stream.ready()).toBe(false);
			expect(stream.counts).toMatchObject({ batchesQueued: 0, batchesHeld: 0, bytesAlive: 0 });
		},
	);

	test("that waits is told when the statement stops reading", async () => {
		const stream = new RecordBatchStream([field("i", "i")], { capacityBatches: 1 });
		stream.scan(connection, view);
		const limited = connection
			.run(`SELECT * FROM ${view} LIMIT 20000`)
			.finally(() => stream.close());
		let taken = 0;
		while (await stream.push(integers(5000))) taken += 1;
		expect(taken).toBeGreaterThan(0);
		await limited;
	});

	test("waits and goes on whichever copy of the module made its stream", async () => {
		const copy = (await import(`${new URL("../index.js", import.meta.url).href}?copy`)) as {
			RecordBatchStream: typeof RecordBatchStream;
		};
		expect(copy.RecordBatchStream).not.toBe(RecordBatchStream);
		for (const Stream of [RecordBatchStream, copy.RecordBatchStream]) {
			const stream = new Stream([field("i", "i")], { capacityBatches: 1 });
			stream.scan(connection, view);
			const inserted = insert();
			for (let i = 0; i < 20; i++) expect(await within(stream.push(integers(10)), 5000)).toBe(true);
			stream.end();
			expect((await inserted).rowsChanged).toBe(200);
			stream.close();
		}
	});

	test("after the end is an error", () => {
		const stream = new RecordBatchStream([field("i", "i")]);
		stream.end();
		expect(() => stream.push(integers(1))).toThrow("push after end");
		stream.close();
	});
});

describe("who pushed a batch", () => {
	/** Pushes `count` batches; `told` grows by each that is released. */
	function pushAll(stream: RecordBatchStream, count: number) {
		const told: number[] = [];
		const taken = Array.from({ length: count }, (_, i) =>
			stream.push(integers(1000), () => told.push(i)),
		);
		return { told, taken };
	}

	test("is told once of each, when DuckDB has released it", async () => {
		const stream = new RecordBatchStream([field("i", "i")]);
		stream.scan(connection, view);
		const { told } = pushAll(stream, 5);
		expect(told).toEqual([]);
		stream.end();
		await insert();
		while (told.length < 5) await sleep(1);
		await sleep(5);
		expect(told.toSorted()).toEqual([0, 1, 2, 3, 4]);
		stream.close();
	});

	test("is told of all but what a result still holds, and of that when the result goes on", async () => {
		const stream = new RecordBatchStream([field("i", "i")], { capacityBatches: 1000 });
		stream.scan(connection, view);
		const { told } = pushAll(stream, 300);
		stream.end();
		const result = await connection.stream(`SELECT * FROM ${view}`);
		await sleep(5);
		const soFar = told.length;
		const { batchesQueued, batchesHeld } = stream.counts;
		expect(batchesHeld).toBeGreaterThan(0);
		expect(soFar).toBeLessThanOrEqual(300 - batchesQueued - batchesHeld);
		expect(await result.getRows()).toHaveLength(300_000);
		while (told.length < 300) await sleep(1);
		expect(new Set(told).size).toBe(300);
		stream.close();
	});

	test("is told when the stream is closed, before or after the push", async () => {
		const stream = new RecordBatchStream([field("i", "i")]);
		const { told } = pushAll(stream, 3);
		stream.close();
		while (told.length < 3) await sleep(1);
		const late = pushAll(stream, 1);
		expect(await late.taken[0]).toBe(false);
		expect(late.told).toEqual([0]);
	});

	test("is told at once when its bytes are copied", () => {
		const stream = new RecordBatchStream([field("i", "i")], { copy: true });
		const { told } = pushAll(stream, 2);
		expect(told).toEqual([0, 1]);
		stream.close();
	});

	test("is not told when the push threw, and has all that it had", async () => {
		const stream = new RecordBatchStream([field("i", "i")]);
		let told = 0;
		const short = batch(array(1000, [null, Int32Array.of(1)]));
		expect(() => stream.push(short, () => told++)).toThrow(RangeError);
		stream.close();
		await sleep(5);
		expect(told).toBe(0);
	});
});

describe("a statement", () => {
	test("goes on while the event loop is busy", async () => {
		const stream = new RecordBatchStream([field("i", "i")], { capacityBatches: 64 });
		stream.scan(connection, view);
		const inserted = insert();
		for (let i = 0; i < 32; i++) stream.push(integers(10_000));
		stream.end();
		const deadline = performance.now() + 5000;
		while (stream.counts.rowsHandedOver < 320_000 && performance.now() < deadline)
			blockEventLoop(1);
		expect(stream.counts.rowsHandedOver).toBe(320_000);
		expect((await inserted).rowsChanged).toBe(320_000);
		stream.close();
	});

	test("that fails half-way leaves nothing pinned and the connection usable", async () => {
		const stream = new RecordBatchStream([field("i", "i")], { capacityBatches: 2 });
		stream.scan(connection, view);
		const failing = connection
			.run(
				`INSERT INTO target SELECT * FROM ${view}`.replace(
					"*",
					"CASE WHEN i = 150000 THEN error('half-way') ELSE i END",
				),
			)
			.finally(() => stream.close());
		failing.catch(() => {});
		let from = 0;
		while (from < 10_000_000 && (await stream.push(integers(10_000, from)))) from += 10_000;
		await expect(failing).rejects.toThrow("half-way");
		expect(from).toBeLessThan(10_000_000);
		expect(stream.counts).toMatchObject({ batchesQueued: 0, batchesHeld: 0, bytesAlive: 0 });
		expect(await rowsOfTarget()).toBe(0);
	});

	test("fails with the text of fail()", async () => {
		const stream = new RecordBatchStream([field("i", "i")]);
		stream.scan(connection, view);
		const failing = insert();
		await stream.push(integers(10_000));
		stream.fail("upload cut at byte 17: ü");
		await expect(failing).rejects.toThrow(
			"arrow_scan: get_next failed(): upload cut at byte 17: ü",
		);
		expect(await rowsOfTarget()).toBe(0);
		stream.close();
	});

	test("fails with the text of fail() after end() when it hasn't read the end", async () => {
		const stream = new RecordBatchStream([field("i", "i")]);
		stream.scan(connection, view);
		await stream.push(integers(10));
		stream.end();
		stream.fail("the digest is wrong");
		await expect(insert()).rejects.toThrow("the digest is wrong");
		stream.close();
	});

	test("that waits for a batch is woken by close() and fails", async () => {
		const stream = new RecordBatchStream([field("i", "i")]);
		stream.scan(connection, view);
		const waiting = insert();
		expect(await within(waiting, 30)).toBe("late");
		stream.close();
		await expect(waiting).rejects.toThrow("closed before its end");
	});

	test("over a stream closed with batches unread fails and doesn't lose them silently", async () => {
		const stream = new RecordBatchStream([field("i", "i")]);
		stream.scan(connection, view);
		await stream.push(integers(10));
		stream.end();
		stream.close();
		await expect(insert()).rejects.toThrow("closed before its end");
	});

	test("gives no rows when the view is read a second time, closed or not", async () => {
		const stream = new RecordBatchStream([field("i", "i")]);
		stream.scan(connection, view);
		await stream.push(integers(10));
		stream.end();
		expect((await insert()).rowsChanged).toBe(10);
		expect((await insert()).rowsChanged).toBe(0);
		stream.close();
		expect((await insert()).rowsChanged).toBe(0);
	});

	test("over a stream of no batches gives no rows", async () => {
		const stream = new RecordBatchStream([field("i", "i")]);
		stream.scan(connection, view);
		stream.end();
		expect((await insert()).rowsChanged).toBe(0);
		stream.close();
	});
});

describe("several streams", () => {
	test("are read at once by several connections, each its own rows", async () => {
		const streams = 6;
		const sums = await Promise.all(
			Array.from({ length: streams }, async (_, n) => {
				const own = await instance.connect();
				const stream = new RecordBatchStream([field("i", "i")], { capacityBatches: 2 });
				stream.scan(own, `many_${n}`);
				const summed = own.runAndReadAll(`SELECT count(*)::INTEGER, min(i), max(i) FROM many_${n}`);
				for (let i = 0; i < 20; i++) await stream.push(integers(1000, n * 1_000_000 + i * 1000));
				stream.end();
				const rows = (await summed).getRows()[0];
				await own.run(`DROP VIEW many_${n}`);
				stream.close();
				own.closeSync();
				return rows;
			}),
		);
		expect(sums).toEqual(
			Array.from({ length: streams }, (_, n) => [20_000, n * 1_000_000, n * 1_000_000 + 19_999]),
		);
	});
});

describe("a stream may be closed", () => {
	test("in any order and any number of times", () => {
		const unused = new RecordBatchStream([field("i", "i")]);
		unused.close();
		unused.close();
		unused.fail("late");
		unused.end();
		unused.close();
		expect(unused.isOpen).toBe(false);
	});

	test("by `using`", () => {
		let outside: RecordBatchStream;
		{
			using stream = new RecordBatchStream([field("i", "i")]);
			outside = stream;
			expect(stream.isOpen).toBe(true);
		}
		expect(outside.isOpen).toBe(false);
	});

	test("while a result that is read in pieces still holds its batches, which go with the result", async () => {
		const stream = new RecordBatchStream([field("s", "u")], { capacityBatches: 1000 });
		stream.scan(connection, view);
		const text = "a text of more than twelve bytes, which vectors point to";
		for (let i = 0; i < 400; i++) await stream.push(batch(utf8s(Array(2048).fill(text))));
		stream.end();
		const result = await connection.stream(`SELECT * FROM ${view}`);
		const first = await result.fetchChunk();
		expect(stream.counts.batchesHeld).toBeGreaterThan(0);
		stream.close();
		expect(stream.counts.batchesQueued).toBe(0);
		expect(first?.getColumnValues(0).every((value) => value === text)).toBe(true);
		// Node-api doesn't tell the error of a later piece: it just ends, early.
		let rows = first?.rowCount ?? 0;
		for (
			let chunk = await result.fetchChunk();
			chunk?.rowCount;
			chunk = await result.fetchChunk()
		) {
			rows += chunk.rowCount;
		}
		expect(rows).toBeLessThan(400 * 2048);
		expect(stream.counts).toMatchObject({ batchesHeld: 0, bytesAlive: 0 });
	});
});

describe("scan", () => {
	test.each([
		["nothing", undefined],
		["null", null],
		["a number", 7],
		["a plain object", {}],
		["another External of the bindings", "database"],
	])("refuses %s as a connection with a TypeError", (_what, object) => {
		const stream = new RecordBatchStream([field("i", "i")]);
		const wrong = object === "database" ? (instance as unknown as { db: object }).db : object;
		if (object === "database") expect(typeof wrong).toBe("object");
		expect(() => stream.scan(wrong, view)).toThrow(TypeError);
		expect(() => stream.scan(wrong, view)).toThrow("not a DuckDB connection");
		stream.close();
	});

	test("refuses a connection that was closed", async () => {
		const closed = await instance.connect();
		const external = (closed as unknown as { connection: object }).connection;
		closed.closeSync();
		const stream = new RecordBatchStream([field("i", "i")]);
		expect(() => stream.scan(external, view)).toThrow("the DuckDB connection is closed");
		stream.close();
	});

	test("names the column that DuckDB refuses, and its reason", () => {
		const stream = new RecordBatchStream([field("fine", "i"), field("half", "e")]);
		expect(stream.refusal(connection)).toContain("column 'half'");
		expect(() => stream.scan(connection, view)).toThrow(
			/DuckDB refuses the schema: column 'half': .+/,
		);
		stream.close();
	});

	test("has nothing against a schema that DuckDB takes", () => {
		const stream = new RecordBatchStream([field("fine", "i")]);
		expect(stream.refusal(connection)).toBeNull();
		stream.close();
	});

	test("says what it can when the view has the name of a table", () => {
		const stream = new RecordBatchStream([field("i", "i")]);
		expect(() => stream.scan(connection, "target")).toThrow("a table may have its name");
		stream.close();
	});

	test.each([
		["", "empty"],
		["a\0b", "NUL"],
		[7, "must be a string"],
	])("refuses the view name %j", (name, reason) => {
		const stream = new RecordBatchStream([field("i", "i")]);
		expect(() => stream.scan(connection, name as string)).toThrow(reason);
		stream.close();
	});

	test("takes a view name with quotes, semicolons and an emoji as it is", async () => {
		const stream = new RecordBatchStream([field("i", "i")]);
		const odd = `'); DROP TABLE target;-- "😀`;
		stream.scan(connection, odd);
		stream.end();
		const quoted = `"${odd.replaceAll('"', '""')}"`;
		expect((await connection.runAndReadAll(`SELECT * FROM ${quoted}`)).getRows()).toEqual([]);
		await connection.run(`DROP VIEW ${quoted}`);
		expect(await rowsOfTarget()).toBe(0);
		stream.close();
	});
});

describe("a schema is refused with a TypeError", () => {
	test.each([
		["without fields", [], "without fields"],
		["of an unknown format", [field("x", "Q")], "column 'x': format 'Q' is unknown"],
		["with a NUL in a name", [field("a\0b", "i")], "NUL"],
		["of a list without a child", [field("l", "+l")], "has 1 children, got 0"],
		[
			"with metadata cut short",
			[field("m", "i", { metadata: Uint8Array.of(1, 0, 0, 0, 9) })],
			"metadata isn't encoded",
		],
		["of something else", [7], "must be an object"],
	])("%s", (_what, fields, reason) => {
		const make = () => new RecordBatchStream(fields as ReturnType<typeof field>[]);
		expect(make).toThrow(TypeError);
		expect(make).toThrow(reason);
	});
});

describe("a batch is refused, and nothing of it kept,", () => {
	const list = field("l", "+l", { children: [field("item", "i")] });
	const words = field("d", "c", { dictionary: field("", "u") });
	const shared = new Int32Array(new SharedArrayBuffer(16));
	const resizable = new Int32Array(new ArrayBuffer(16, { maxByteLength: 64 }));
	const detached = bytes(new Int32Array(4));
	structuredClone(detached.buffer, { transfer: [detached.buffer] });
	test.each([
		["with a column too many", [field("i", "i")], batch(int32s([1]), int32s([1])), "more columns"],
		[
			"with a column too few",
			[field("i", "i"), field("j", "i")],
			batch(int32s([1])),
			"fewer columns",
		],
		[
			"with columns of different lengths",
			[field("i", "i"), field("j", "i")],
			batch(int32s([1]), int32s([1, 2])),
			"column 'j' (format i): has 2 rows in a batch of 1",
		],
		[
			"with a buffer too short",
			[field("i", "i")],
			batch(array(5, [null, new Int32Array(4)])),
			"buffer 1 has 16 bytes, expected at least 20 for 5 rows",
		],
		[
			"with a buffer missing",
			[field("i", "i")],
			batch(array(5, [null])),
			"has 1 buffers, expected 2",
		],
		[
			"with a null buffer of values",
			[field("i", "i")],
			batch(array(1, [null, null])),
			"buffer 1 has 0 bytes",
		],
		[
			"with nulls but no validity",
			[field("i", "i")],
			batch(array(1, [null, new Int32Array(1)], { nullCount: 1 })),
			"1 nulls without a validity buffer",
		],
		[
			"with more nulls than rows",
			[field("i", "i")],
			batch(array(1, [new Uint8Array(1), new Int32Array(1)], { nullCount: 2 })),
			"2 nulls in 1 rows",
		],
		[
			"with a last offset past its data",
			[field("s", "u")],
			batch(array(1, [null, Int32Array.of(0, 9), new Uint8Array(4)])),
			"buffer 2 has 4 bytes, expected at least 9",
		],
		[
			"with a negative last offset",
			[field("s", "u")],
			batch(array(1, [null, Int32Array.of(0, -9), new Uint8Array(4)])),
			"the last offset is -9",
		],
		[
			"with a list longer than its child",
			[list],
			batch(array(1, [null, Int32Array.of(0, 3)], { children: [int32s([1, 2])] })),
			"its child 'item' has 2 rows, expected at least 3",
		],
		[
			"with a dictionary missing",
			[words],
			batch(array(1, [null, new Int8Array(1)])),
			"has no dictionary",
		],
		[
			"with a dictionary unasked for",
			[field("i", "c")],
			batch(dictionary([0], utf8s(["a"]))),
			"a dictionary that its schema doesn't name",
		],
		[
			"with a negative length",
			[field("i", "i")],
			batch({ ...int32s([1]), length: -1 }),
			"a batch's length must be an integer",
		],
		[
			"with a length that isn't whole",
			[field("i", "i")],
			{ length: 0.5, columns: [int32s([1])] },
			"a batch's length must be an integer",
		],
		[
			"in a SharedArrayBuffer",
			[field("i", "i")],
			batch(array(4, [null, shared])),
			"SharedArrayBuffer",
		],
		[
			"in a resizable ArrayBuffer",
			[field("i", "i")],
			batch(array(4, [null, resizable])),
			"resizable",
		],
		[
			"in a detached ArrayBuffer",
			[field("i", "i")],
			batch({ ...array(4, []), buffers: [null, detached] }),
			"buffer 1 has 0 bytes",
		],
	])("%s", async (_what, fields, wrong, reason) => {
		const stream = new RecordBatchStream(fields);
		expect(() => stream.push(wrong)).toThrow(reason);
		expect(stream.counts).toMatchObject({ batchesQueued: 0, batchesHeld: 0, bytesAlive: 0 });
		// The next one is none the worse for it.
		if (fields.length === 1 && fields[0]?.format === "i") {
			expect(await stream.push(integers(3))).toBe(true);
			expect(stream.counts.batchesQueued).toBe(1);
		}
		stream.close();
	});
});

describe("a batch is taken", () => {
	test("out of a resizable ArrayBuffer when copied, and later changes don't reach it", async () => {
		const memory = new ArrayBuffer(16, { maxByteLength: 64 });
		new Int32Array(memory).set([1, 2, 3, 4]);
		const stream = new RecordBatchStream([field("i", "i")], { copy: true });
		await stream.push(batch(array(4, [null, new Int32Array(memory)])));
		new Int32Array(memory).fill(9);
		memory.resize(4);
		stream.end();
		stream.scan(connection, view);
		await insert();
		const reader = await connection.runAndReadAll("SELECT * FROM target ORDER BY i");
		expect(reader.getRows()).toEqual([[1], [2], [3], [4]]);
		stream.close();
	});

	test("out of memory that isn't aligned, by a copy of that buffer alone", async () => {
		const memory = new Uint8Array(1 + 16);
		memory.set(new Uint8Array(Int32Array.of(1, 2, 3, 4).buffer), 1);
		const stream = new RecordBatchStream([field("i", "i")]);
		await stream.push(batch(array(4, [null, memory.subarray(1)])));
		stream.end();
		stream.scan(connection, view);
		await insert();
		const reader = await connection.runAndReadAll("SELECT sum(i)::INTEGER FROM target");
		expect(reader.getRows()).toEqual([[10]]);
		stream.close();
	});

	test("with null buffers where there are no rows", async () => {
		const stream = new RecordBatchStream([
			field("s", "u"),
			field("l", "+l", { children: [field("item", "i")] }),
		]);
		const empty = array(0, [null, null]);
		await stream.push(
			batch(array(0, [null, null, null]), { ...empty, children: [array(0, [null, null])] }),
		);
		await stream.push(batch(utf8s(["x"]), lists([[1]])));
		stream.end();
		stream.scan(connection, view);
		const reader = await connection.runAndReadAll(`SELECT * FROM ${view}`);
		expect(reader.getRowsJson()).toEqual([["x", [1]]]);
		stream.close();
	});
});

test("a stream's counts follow its batches to their release", async () => {
	const stream = new RecordBatchStream([field("i", "i")]);
	await stream.push(integers(1000));
	await stream.push(integers(24));
	expect(stream.counts).toEqual({
		rowsHandedOver: 0,
		batchesHandedOver: 0,
		bytesHandedOver: 0,
		batchesQueued: 2,
		batchesHeld: 0,
		bytesAlive: 4096,
	});
	stream.scan(connection, view);
	stream.end();
	await insert();
	await sleep(0);
	expect(stream.counts).toEqual({
		rowsHandedOver: 1024,
		batchesHandedOver: 2,
		bytesHandedOver: 4096,
		batchesQueued: 0,
		batchesHeld: 0,
		bytesAlive: 0,
	});
	stream.close();
});
