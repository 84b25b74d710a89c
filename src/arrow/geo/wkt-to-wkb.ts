/**
 * In: the UTF-8 bytes of one WKT value. Out: ISO WKB, little-endian, appended to a
 * builder; or an IngestError that names the byte.
 *
 * Read: the OGC and ISO grammar in any case, `Z`, `M`, `ZM` apart or attached,
 * `EMPTY` at every level, multipoints with and without inner brackets, an EWKT
 * `SRID=n;`, LINEARRING as LINESTRING. Where no dimensions are written the first
 * coordinate says them, as PostGIS, GEOS and shapely do; members of a collection
 * without a mark have those of the whole.
 *
 * Spec: OGC 06-103r4, section 7; https://libgeos.org/specifications/wkt/
 */

import { IngestError } from "../../errors.ts";
import type { ByteBuilder } from "./byte-builder.ts";
import {
	type Dimensions,
	dimensionNames,
	type GeometryType,
	geometryTypes,
	maxGeometryNesting,
	ordinates,
	otherGeometryTypes,
	wkbType,
} from "./wkb-types.ts";

const openBracket = 0x28;
const closeBracket = 0x29;
const comma = 0x2c;
const semicolon = 0x3b;
const equalsSign = 0x3d;
const zero = 0x30;

/** Those that a double holds exactly: 10^0 … 10^22. */
const powersOfTen = Array.from({ length: 23 }, (_, exponent) => Number(`1e${exponent}`));

const typesByName = new Map<string, number>(
	geometryTypes.map((name: GeometryType, index) => [name, index + 1]),
).set("LINEARRING", wkbType.linestring);
const unsupportedNames = new Set<string>(otherGeometryTypes);
const dimensionsByMark: Record<string, Dimensions> = { Z: 1, M: 2, ZM: 3 };

export interface WktReader {
	/** `[start, end)` of `bytes` is one value; `onSrid` is called when it names one. */
	convert(bytes: Uint8Array, start: number, end: number, onSrid: (srid: number) => void): void;
}

export function createWktReader(out: ByteBuilder): WktReader {
	let bytes = new Uint8Array(0);
	let start = 0;
	let end = 0;
	let position = 0;
	let dimensions: Dimensions = 0;
	/** Numbers of a coordinate. */
	let width = 2;

	const fail = (detail: string, at = position): never => {
		throw new IngestError("invalid_arrow", `not valid WKT: ${detail} at byte ${at - start}`);
	};

	const skipSpace = () => {
		while (position < end) {
			const byte = bytes[position]!;
			if (byte !== 0x20 && (byte < 0x09 || byte > 0x0d)) return;
			position++;
		}
	};
	/** The byte after any space, not taken; -1 at the end. */
	const peek = () => {
		skipSpace();
		return position < end ? bytes[position]! : -1;
	};
	const take = (byte: number) => {
		if (peek() !== byte) return false;
		position++;
		return true;
	};
	const expect = (byte: number) => {
		if (!take(byte)) fail(`expected "${String.fromCharCode(byte)}"`);
	};
	/** Letters, upper-cased; empty where none stand. */
	const takeWord = () => {
		skipSpace();
		let word = "";
		while (position < end) {
			const letter = bytes[position]! & ~0x20;
			if (letter < 0x41 || letter > 0x5a) break;
			word += String.fromCharCode(letter);
			position++;
			// The longest word there is has 18 letters and 2 for its dimensions.
			if (word.length > 20) fail("a word that is no type of geometry");
		}
		return word;
	};
	/** EMPTY, or false with nothing taken. */
	const takeEmpty = () => {
		const before = position;
		// "E" or "e" after spaces decides cheaply for the many coordinates.
		if ((peek() & ~0x20) !== 0x45) return false;
		if (takeWord() === "EMPTY") return true;
		position = before;
		return false;
	};

	/** Decimal number; NaN and infinities by name, as other writers put them. */
	const takeNumber = (): number => {
		skipSpace();
		const first = position;
		let negative = false;
		if (position < end && (bytes[position] === 0x2d || bytes[position] === 0x2b)) {
			negative = bytes[position] === 0x2d;
			position++;
		}
		let digits = 0;
		let mantissa = 0;
		let scale = 0;
		for (; position < end; position++) {
			const digit = bytes[position]! - zero;
			if (digit < 0 || digit > 9) break;
			mantissa = mantissa * 10 + digit;
			digits++;
		}
		if (position < end && bytes[position] === 0x2e) {
			position++;
			for (; position < end; position++) {
				const digit = bytes[position]! - zero;
				if (digit < 0 || digit > 9) break;
				mantissa = mantissa * 10 + digit;
				digits++;
				scale++;
			}
		}
		if (digits === 0) {
			const word = takeWord();
			if (word === "NAN") return Number.NaN;
			if (word === "INF" || word === "INFINITY") return negative ? -Infinity : Infinity;
			return fail("expected a number", first);
		}
		let isExact = digits <= 15 && scale < powersOfTen.length;
		if (position < end && (bytes[position]! | 0x20) === 0x65) {
			isExact = false;
			position++;
			if (position < end && (bytes[position] === 0x2d || bytes[position] === 0x2b)) position++;
			const firstDigit = position;
			while (position < end && bytes[position]! >= zero && bytes[position]! <= 0x39) position++;
			if (position === firstDigit) fail("expected the digits of an exponent");
		}
		// Both are exact doubles, so their quotient is the nearest one.
		if (isExact) return (negative ? -mantissa : mantissa) / powersOfTen[scale]!;
		// Longer than any double needs; the rest would only cost memory.
		if (position - first > 4096) fail("a number of more than 4096 characters", first);
		return Number(String.fromCharCode(...bytes.subarray(first, position)));
	};

	const coordinate = () => {
		for (let ordinate = 0; ordinate < width; ordinate++) {
			if (ordinate > 0 && (peek() === comma || peek() === closeBracket)) {
				fail(`${ordinate} numbers, where ${dimensionNames[dimensions]} has ${width},`);
			}
			out.float64(takeNumber());
		}
		const next = peek();
		if (next !== comma && next !== closeBracket) {
			fail(`expected "," or ")" after ${width} numbers of ${dimensionNames[dimensions]}`);
		}
	};
	/** `( item , item … )` or EMPTY, with its count before it. */
	const list = (item: () => void) => {
		const at = out.length;
		out.uint32(0);
		if (takeEmpty()) return;
		expect(openBracket);
		let count = 0;
		do {
			item();
			count++;
		} while (take(comma));
		expect(closeBracket);
		out.setUint32(at, count);
	};
	const header = (type: number) => {
		out.uint8(1);
		out.uint32(type + 1000 * dimensions);
	};
	const emptyPoint = () => {
		for (let ordinate = 0; ordinate < width; ordinate++) out.float64(Number.NaN);
	};
	const bracketedPoint = () => {
		if (takeEmpty()) return emptyPoint();
		expect(openBracket);
		coordinate();
		expect(closeBracket);
	};
	const coordinates = () => list(coordinate);
	const rings = () => list(coordinates);

	/** A type's name and its mark, which must be that of the whole. */
	const takeType = (): number => {
		const at = position;
		const word = takeWord();
		let mark = "";
		let type = typesByName.get(word);
		if (type === undefined) {
			mark = /(ZM|Z|M)$/.exec(word)?.[1] ?? "";
			type = typesByName.get(word.slice(0, word.length - mark.length));
		}
		if (type === undefined) {
			const name = word.slice(0, word.length - mark.length);
			if (unsupportedNames.has(word) || unsupportedNames.has(name)) {
				const found = unsupportedNames.has(word) ? word : name;
				throw new IngestError("unsupported_type", `DuckDB's GEOMETRY has no ${found}`);
			}
			return fail(word === "" ? "expected a type of geometry" : `unknown type ${word}`, at);
		}
		if (mark === "") {
			const before = position;
			mark = takeWord();
			if (dimensionsByMark[mark] === undefined) {
				mark = "";
				position = before;
			}
		}
		const marked = mark === "" ? dimensions : dimensionsByMark[mark]!;
		if (marked !== dimensions) {
			const names = `${dimensionNames[marked]} inside ${dimensionNames[dimensions]}`;
			fail(`geometries of different dimensions, ${names},`, at);
		}
		return type;
	};

	const geometry = (depth: number) => {
		const type = takeType();
		header(type);
		switch (type) {
			case wkbType.point:
				return bracketedPoint();
			case wkbType.linestring:
				return coordinates();
			case wkbType.polygon:
				return rings();
			case wkbType.multipoint:
				return list(() => {
					header(wkbType.point);
					const next = peek();
					if (next === openBracket || (next & ~0x20) === 0x45) bracketedPoint();
					else coordinate();
				});
			case wkbType.multilinestring:
				return list(() => {
					header(wkbType.linestring);
					coordinates();
				});
			case wkbType.multipolygon:
				return list(() => {
					header(wkbType.polygon);
					rings();
				});
			default:
				return list(() => {
					if (depth >= maxGeometryNesting) {
						const detail = `geometries nested deeper than ${maxGeometryNesting}, which is all GEOMETRY takes`;
						throw new IngestError("unsupported_type", detail);
					}
					geometry(depth + 1);
				});
		}
	};

	/** Looks ahead to the first mark or the first coordinate; takes nothing. */
	const findDimensions = (): Dimensions => {
		const before = position;
		let found: Dimensions = 0;
		while (position < end) {
			const next = peek();
			if (next === openBracket || next === closeBracket || next === comma) {
				position++;
				continue;
			}
			const word = takeWord();
			if (word === "") {
				let count = 1;
				takeNumber();
				while (peek() !== comma && peek() !== closeBracket && peek() !== -1 && count < 5) {
					takeNumber();
					count++;
				}
				found = count === 3 ? 1 : count === 4 ? 3 : 0;
				break;
			}
			if (word === "EMPTY" || typesByName.has(word)) continue;
			if (word === "NAN" || word === "INF" || word === "INFINITY") {
				position -= word.length;
				let count = 0;
				for (; peek() !== comma && peek() !== closeBracket && count < 5; count++) takeNumber();
				found = count === 3 ? 1 : count === 4 ? 3 : 0;
				break;
			}
			const mark = /(ZM|Z|M)$/.exec(word)?.[1];
			if (mark !== undefined) found = dimensionsByMark[mark]!;
			break;
		}
		position = before;
		return found;
	};

	return {
		convert(source, from, to, onSrid) {
			bytes = source as Uint8Array<ArrayBuffer>;
			start = position = from;
			end = to;
			const before = position;
			if (takeWord() === "SRID" && take(equalsSign)) {
				const srid = takeNumber();
				if (!Number.isInteger(srid)) fail("expected the whole number of an SRID");
				expect(semicolon);
				onSrid(srid);
			} else {
				position = before;
			}
			dimensions = findDimensions();
			width = ordinates[dimensions];
			geometry(1);
			if (peek() !== -1) fail("more text after the geometry");
		},
	};
}
