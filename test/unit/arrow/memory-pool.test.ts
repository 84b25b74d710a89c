import { describe, expect, it } from "vitest";
import { BatchMemory } from "../../../src/arrow/batch-memory.ts";
import { MemoryPool } from "../../../src/arrow/memory-pool.ts";
import { plainCodecs } from "./support/arrays.ts";

const MiB = 1024 * 1024;

/** A pool, and the sizes of what it allocated. */
function poolOf(rules = { fromBytes: 1 }) {
	const made: number[] = [];
	const allocate = (size: number) => {
		made.push(size);
		return new Uint8Array(size);
	};
	return { pool: MemoryPool.of({ ...plainCodecs, allocate, pool: rules })!, made };
}

describe("memory of a batch", () => {
	it("is freed once, when its last holder has let go", () => {
		let freed = 0;
		const memory = new BatchMemory(() => freed++);
		memory.retain().retain();
		memory.release();
		memory.release();
		expect(freed).toBe(0);
		memory.release();
		expect(freed).toBe(1);
	});

	it("can't be let go of by who doesn't hold it", () => {
		const memory = new BatchMemory(() => {});
		memory.release();
		expect(() => memory.release()).toThrow("given back");
		expect(() => memory.retain()).toThrow("given back");
	});
});

describe("a pool", () => {
	it("is there only where the runtime has rules for it, and for what is large enough", () => {
		expect(MemoryPool.of(plainCodecs)).toBeNull();
		const { pool } = poolOf({ fromBytes: 100 });
		expect(pool.take(99)).toBeNull();
		expect(pool.take(100)!.bytes).toHaveLength(100);
	});

	it("gives what came back for the next of about that size, and never what somebody holds", () => {
		const { pool, made } = poolOf();
		const first = pool.take(8 * MiB + 5)!;
		const second = pool.take(8 * MiB)!;
		expect(second.bytes.buffer).not.toBe(first.bytes.buffer);
		first.memory.retain();
		first.memory.release();
		expect(pool.take(8 * MiB)!.bytes.buffer).not.toBe(first.bytes.buffer);
		first.memory.release();
		expect(pool.take(1000)!.bytes.buffer).not.toBe(first.bytes.buffer);
		const again = pool.take(8 * MiB + 300_000)!;
		expect(again.bytes.buffer).toBe(first.bytes.buffer);
		expect(again.bytes).toHaveLength(8 * MiB + 300_000);
		expect(made).toHaveLength(4);
	});

	it("shows what nobody reads any more to who asked to see it", () => {
		const seen: number[] = [];
		const { pool } = poolOf({
			fromBytes: 1,
			reclaimed: (bytes: Uint8Array) => void seen.push(bytes.length),
		} as { fromBytes: number });
		const { memory } = pool.take(MiB)!;
		expect(seen).toEqual([]);
		memory.release();
		expect(seen).toEqual([MiB]);
	});

	it("keeps no more unused than it may, the latest", () => {
		const { pool, made } = poolOf();
		const taken = Array.from({ length: 20 }, () => pool.take(16 * MiB)!);
		for (const { memory } of taken) memory.release();
		const kept = taken.filter(({ bytes }) => bytes.buffer.byteLength > 0);
		expect(kept).toEqual(taken.slice(-8));
		for (let i = 0; i < 8; i++) pool.take(16 * MiB);
		expect(made).toHaveLength(20);
	});

	it("that is closed gives everything back, what is held when it comes", () => {
		const { pool } = poolOf();
		const idle = pool.take(MiB)!;
		const held = pool.take(MiB)!;
		idle.memory.release();
		pool.close();
		expect(idle.bytes.buffer.byteLength).toBe(0);
		expect(held.bytes).toHaveLength(MiB);
		held.memory.release();
		expect(held.bytes.buffer.byteLength).toBe(0);
	});
});
