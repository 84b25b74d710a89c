/**
 * In: bytes of Thrift's compact protocol, as Parquet's footer has them. Out: the values
 * that a caller asks for; all others are skipped. Nothing is built up: what is read is as
 * large as what the caller keeps.
 *
 * https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md
 * Errors: `invalid_arrow` where the bytes end too early, a number has more than 53 bits or
 * structs lie deeper than `maxDepth`.
 */

import { invalidParquet } from "./invalid-parquet.ts";

/** Type codes of the protocol. A boolean field's value is its type. */
export const thrift = {
	stop: 0,
	true: 1,
	false: 2,
	i8: 3,
	i16: 4,
	i32: 5,
	i64: 6,
	double: 7,
	binary: 8,
	list: 9,
	set: 10,
	map: 11,
	struct: 12,
	uuid: 13,
} as const;

/** Structs in lists in structs: Parquet's own reach nine deep. */
const maxDepth = 32;
const utf8 = new TextDecoder("utf-8", { fatal: true });

export class ThriftCompact {
	readonly #bytes: Uint8Array;
	#at = 0;
	#depth = 0;

	constructor(bytes: Uint8Array) {
		this.#bytes = bytes;
	}

	/** Each field in turn; one that `field` doesn't read (it returns false) is skipped. */
	readStruct(field: (id: number, type: number) => boolean): void {
		if (++this.#depth > maxDepth) throw invalidParquet(`structs lie more than ${maxDepth} deep`);
		for (let id = 0; ; ) {
			const header = this.#byte();
			const type = header & 15;
			if (type === thrift.stop) break;
			const delta = header >> 4;
			id = delta === 0 ? this.integer() : id + delta;
			if (!field(id, type)) this.#skip(type);
		}
		this.#depth--;
	}

	/** Every element of a list whose elements have this type; as many as the bytes can hold. */
	readList(elements: number, element: (at: number) => void): number {
		const header = this.#byte();
		const size = header >> 4 === 15 ? this.#unsigned() : header >> 4;
		const type = header & 15;
		if (size > 0 && type !== elements) {
			throw invalidParquet(`a list has elements of type ${type}, not ${elements}`);
		}
		this.#assertLeft(size);
		for (let at = 0; at < size; at++) element(at);
		return size;
	}

	/** i8 is a byte of its own and not asked for here; i16, i32 and i64 are zigzag varints. */
	integer(): number {
		const value = this.#unsigned();
		return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
	}

	/** Text, in UTF-8. */
	text(): string {
		const bytes = this.#take(this.#unsigned());
		try {
			return utf8.decode(bytes);
		} catch {
			throw invalidParquet("a name is not UTF-8");
		}
	}

	#skip(type: number): void {
		switch (type) {
			case thrift.true:
			case thrift.false:
				return;
			case thrift.i8:
				this.#take(1);
				return;
			case thrift.i16:
			case thrift.i32:
			case thrift.i64:
				this.#skipVarint();
				return;
			case thrift.double:
				this.#take(8);
				return;
			case thrift.uuid:
				this.#take(16);
				return;
			case thrift.binary:
				this.#take(this.#unsigned());
				return;
			case thrift.struct:
				this.readStruct(() => false);
				return;
			case thrift.list:
			case thrift.set: {
				const header = this.#byte();
				const size = header >> 4 === 15 ? this.#unsigned() : header >> 4;
				this.#assertLeft(size);
				for (let at = 0; at < size; at++) this.#skipElement(header & 15);
				return;
			}
			case thrift.map: {
				const size = this.#unsigned();
				if (size === 0) return;
				const types = this.#byte();
				this.#assertLeft(size);
				for (let at = 0; at < size; at++) {
					this.#skipElement(types >> 4);
					this.#skipElement(types & 15);
				}
				return;
			}
			default:
				throw invalidParquet(`there is no Thrift type ${type}`);
		}
	}

	/** Inside a list a boolean is a byte, and lists may hold lists: they count as depth too. */
	#skipElement(type: number): void {
		if (type === thrift.true || type === thrift.false) {
			this.#take(1);
			return;
		}
		if (++this.#depth > maxDepth) throw invalidParquet(`lists lie more than ${maxDepth} deep`);
		this.#skip(type);
		this.#depth--;
	}

	#unsigned(): number {
		let value = 0;
		for (let scale = 1; ; scale *= 128) {
			const byte = this.#byte();
			value += (byte & 127) * scale;
			if (value > Number.MAX_SAFE_INTEGER) throw invalidParquet("a number has more than 53 bits");
			if (byte < 128) return value;
			if (scale > 2 ** 63) throw invalidParquet("a number has no end");
		}
	}

	#skipVarint(): void {
		for (let count = 1; this.#byte() >= 128; count++) {
			if (count >= 10) throw invalidParquet("a number has no end");
		}
	}

	/** Each element takes a byte at least. */
	#assertLeft(count: number): void {
		if (count > this.#bytes.length - this.#at) {
			throw invalidParquet(
				`${count} elements are said to follow in ${this.#bytes.length - this.#at} bytes`,
			);
		}
	}

	#byte(): number {
		const byte = this.#bytes[this.#at];
		if (byte === undefined) throw invalidParquet("its footer ends in the middle");
		this.#at++;
		return byte;
	}

	#take(count: number): Uint8Array {
		this.#assertLeft(count);
		this.#at += count;
		return this.#bytes.subarray(this.#at - count, this.#at);
	}
}
