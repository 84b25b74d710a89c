/** Writes Parquet footers by hand, right ones and others, in Thrift's compact protocol. */

export type Value =
	| { type: "i32" | "i64"; value: number | bigint }
	| { type: "bool"; value: boolean }
	| { type: "binary"; value: string | Uint8Array }
	| { type: "list"; of: Value["type"]; value: Value[] }
	| { type: "struct"; value: Fields };
export type Fields = Record<number, Value>;

export const i32 = (value: number): Value => ({ type: "i32", value });
export const i64 = (value: number | bigint): Value => ({ type: "i64", value });
export const bool = (value: boolean): Value => ({ type: "bool", value });
export const binary = (value: string | Uint8Array): Value => ({ type: "binary", value });
export const struct = (value: Fields): Value => ({ type: "struct", value });
export const list = (of: Value["type"], value: Value[]): Value => ({ type: "list", of, value });

const codes = { i32: 5, i64: 6, binary: 8, list: 9, struct: 12, bool: 1 };

export function varint(value: bigint): number[] {
	const bytes: number[] = [];
	for (let left = BigInt.asUintN(64, value); ; left >>= 7n) {
		if (left < 128n) return [...bytes, Number(left)];
		bytes.push(Number(left & 127n) | 128);
	}
}

const zigzag = (value: number | bigint) => {
	const big = BigInt(value);
	return varint((big << 1n) ^ (big >> 63n));
};

function bytesOf(value: Value): number[] {
	switch (value.type) {
		case "i32":
		case "i64":
			return zigzag(value.value);
		case "bool":
			return [value.value ? 1 : 2];
		case "binary": {
			const bytes =
				typeof value.value === "string" ? new TextEncoder().encode(value.value) : value.value;
			return [...varint(BigInt(bytes.length)), ...bytes];
		}
		case "list": {
			const { length } = value.value;
			const code = codes[value.of];
			const head = length < 15 ? [(length << 4) | code] : [0xf0 | code, ...varint(BigInt(length))];
			return [...head, ...value.value.flatMap(bytesOf)];
		}
		case "struct":
			return structBytes(value.value);
	}
}

export function structBytes(fields: Fields): number[] {
	let last = 0;
	const bytes: number[] = [];
	for (const [key, value] of Object.entries(fields)) {
		const id = Number(key);
		const code = value.type === "bool" ? (value.value ? 1 : 2) : codes[value.type];
		const delta = id - last;
		if (delta > 0 && delta < 16) bytes.push((delta << 4) | code);
		else bytes.push(code, ...zigzag(id));
		if (value.type !== "bool") bytes.push(...bytesOf(value));
		last = id;
	}
	return [...bytes, 0];
}

/** A leaf or group of the schema; without `children` an optional INT64. */
export function element(name: string, fields: Fields = {}): Value {
	return struct({ 1: i32(2), 3: i32(1), 4: binary(name), ...fields });
}

export function group(name: string, children: number, fields: Fields = {}): Value {
	return struct({ 3: i32(1), 4: binary(name), 5: i32(children), ...fields });
}

export function chunk(metadata: Fields = {}, fields: Fields = {}): Value {
	return struct({
		2: i64(4),
		3: struct({ 1: i32(2), 4: i32(0), 5: i64(10), 6: i64(80), 7: i64(80), 9: i64(4), ...metadata }),
		...fields,
	});
}

export interface FileParts {
	rows?: number | bigint;
	/** Without the root. */
	schema?: Value[];
	/** Columns that the root names; default: those of `schema`. */
	columns?: number;
	groups?: { rows: number; chunks: Value[] }[];
	more?: Fields;
	/** Bytes between the magic and the footer. */
	pages?: number;
}

/** One column `n` of ten INT64, unless said otherwise. */
export function fileOf(parts: FileParts = {}): Uint8Array {
	const schema = parts.schema ?? [element("n")];
	const groups = parts.groups ?? [{ rows: 10, chunks: [chunk()] }];
	const footer = structBytes({
		1: i32(1),
		2: list("struct", [group("root", parts.columns ?? schema.length), ...schema]),
		3: i64(parts.rows ?? groups.reduce((sum, { rows }) => sum + rows, 0)),
		4: list(
			"struct",
			groups.map(({ rows, chunks }) =>
				struct({ 1: list("struct", chunks), 2: i64(80), 3: i64(rows) }),
			),
		),
		...parts.more,
	});
	return framed(footer, parts.pages ?? 80);
}

export function framed(footer: readonly number[], pages = 80): Uint8Array {
	const magic = [...new TextEncoder().encode("PAR1")];
	const length = [0, 8, 16, 24].map((shift) => (footer.length >>> shift) & 255);
	return Uint8Array.from([...magic, ...new Array(pages).fill(0), ...footer, ...length, ...magic]);
}
