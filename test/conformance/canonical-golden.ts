/**
 * Values of Arrow's integration JSON, in the common notation.
 *
 * Format: https://arrow.apache.org/docs/format/Integration.html#json-test-data-format
 */

import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import {
	binary,
	type Canonical,
	days,
	decimal,
	float,
	floorDivide,
	integer,
	interval,
	map,
	nanosecondsPer,
	text,
	timeNs,
	timestampNs,
} from "./canonical.ts";

interface JsonField {
	name: string;
	type: Record<string, unknown> & { name: string };
	children: JsonField[];
	dictionary?: { id: number };
}

interface JsonColumn {
	name: string;
	count: number;
	VALIDITY?: number[];
	DATA?: unknown[];
	OFFSET?: (number | string)[];
	TYPE_ID?: number[];
	SIZE?: (number | string)[];
	VIEWS?: { SIZE: number; INLINED?: string; BUFFER_INDEX?: number; OFFSET?: number }[];
	VARIADIC_DATA_BUFFERS?: string[];
	children?: JsonColumn[];
}

interface JsonBatch {
	count: number;
	columns: JsonColumn[];
}

interface JsonFile {
	schema: { fields: JsonField[] };
	batches: JsonBatch[];
	dictionaries?: { id: number; data: JsonBatch }[];
}

export interface GoldenTable {
	names: string[];
	columns: Canonical[][];
}

export function readGolden(path: string): GoldenTable {
	const file = JSON.parse(gunzipSync(readFileSync(path)).toString("utf8")) as JsonFile;
	const { fields } = file.schema;
	const dictionaries = new Map((file.dictionaries ?? []).map(({ id, data }) => [id, data]));
	return {
		names: fields.map((field) => field.name),
		columns: fields.map((field, i) =>
			file.batches.flatMap((batch) => columnValues(field, batch.columns[i]!, dictionaries)),
		),
	};
}

type Dictionaries = Map<number, JsonBatch>;

const units = {
	SECOND: "s",
	MILLISECOND: "ms",
	MICROSECOND: "us",
	NANOSECOND: "ns",
} as const;

function columnValues(
	field: JsonField,
	column: JsonColumn,
	dictionaries: Dictionaries,
): Canonical[] {
	const isNull = (i: number) => column.VALIDITY !== undefined && column.VALIDITY[i] === 0;
	const rows = (value: (i: number) => Canonical) =>
		Array.from({ length: column.count }, (_, i) => (isNull(i) ? null : value(i)));
	if (field.dictionary) {
		const { dictionary, ...plain } = field;
		const values = columnValues(plain, dictionaries.get(dictionary.id)!.columns[0]!, dictionaries);
		return rows((i) => values[Number(column.DATA![i])]!);
	}
	const data = column.DATA as (number | string)[];
	const { type } = field;
	const unit = nanosecondsPer[units[type.unit as keyof typeof units] ?? "ns"];
	const child = (at: number) =>
		columnValues(field.children[at]!, column.children![at]!, dictionaries);
	const offset = (i: number) => Number(column.OFFSET![i]);
	switch (type.name) {
		case "null":
			return rows(() => null).map(() => null);
		case "bool":
			return rows((i) => Boolean(data[i]));
		case "int":
			return rows((i) => integer(data[i]!));
		case "floatingpoint":
			// Single precision is written as the shortest decimal of a double or of a float; both round to it.
			return rows((i) =>
				float(type.precision === "SINGLE" ? Math.fround(Number(data[i])) : Number(data[i])),
			);
		case "decimal":
			return rows((i) => decimal(BigInt(data[i]!), Number(type.scale)));
		case "utf8":
		case "largeutf8":
			return rows((i) => text(String(data[i])));
		case "binary":
		case "largebinary":
		case "fixedsizebinary":
			return rows((i) => binary(Buffer.from(String(data[i]), "hex")));
		case "utf8view":
		case "binaryview":
			return rows((i) => {
				const view = column.VIEWS![i]!;
				const isText = type.name === "utf8view";
				if (view.INLINED !== undefined) {
					return isText ? text(view.INLINED) : binary(Buffer.from(view.INLINED, "hex"));
				}
				const buffer = Buffer.from(column.VARIADIC_DATA_BUFFERS![view.BUFFER_INDEX!]!, "hex");
				const bytes = buffer.subarray(view.OFFSET!, view.OFFSET! + view.SIZE);
				return isText ? text(bytes.toString("utf8")) : binary(bytes);
			});
		case "date":
			return rows((i) =>
				days(type.unit === "DAY" ? BigInt(data[i]!) : floorDivide(BigInt(data[i]!), 86_400_000n)),
			);
		case "time":
			return rows((i) => timeNs(BigInt(data[i]!) * unit));
		case "timestamp":
			return rows((i) => timestampNs(BigInt(data[i]!) * unit));
		case "duration":
			return rows((i) => interval(0, 0, BigInt(data[i]!) * unit));
		case "interval":
			return rows((i) => intervalOf(String(type.unit), column.DATA![i]));
		case "list":
		case "largelist": {
			const items = child(0);
			return rows((i) => items.slice(offset(i), offset(i + 1)));
		}
		case "listview":
		case "largelistview": {
			const items = child(0);
			return rows((i) => items.slice(offset(i), offset(i) + Number(column.SIZE![i])));
		}
		case "fixedsizelist": {
			const items = child(0);
			const size = Number(type.listSize);
			return rows((i) => items.slice(i * size, (i + 1) * size));
		}
		case "struct": {
			const members = field.children.map((_, at) => child(at));
			return rows((i) =>
				Object.fromEntries(field.children.map(({ name }, at) => [name, members[at]![i]!])),
			);
		}
		case "map": {
			const [key, value] = field.children[0]!.children;
			const entries = column.children![0]!;
			const keys = columnValues(key!, entries.children![0]!, dictionaries);
			const values = columnValues(value!, entries.children![1]!, dictionaries);
			return rows((i) =>
				map(
					keys.slice(offset(i), offset(i + 1)).map((item, at) => [item, values[offset(i) + at]!]),
				),
			);
		}
		case "union": {
			const members = field.children.map((_, at) => child(at));
			return rows((i) => {
				const at = (type.typeIds as number[]).indexOf(column.TYPE_ID![i]!);
				const item = members[at]![type.mode === "DENSE" ? offset(i) : i]!;
				// DuckDB keeps which member a NULL is of; readers see NULL.
				return item === null ? null : { [field.children[at]!.name]: item };
			});
		}
		case "runendencoded": {
			const ends = column.children![0]!.DATA!.map(Number);
			const values = child(1);
			return rows((i) => values[ends.findIndex((end) => i < end)]!);
		}
		default:
			throw new Error(`no reader for type ${type.name} of the integration JSON`);
	}
}

function intervalOf(unit: string, value: unknown): Canonical {
	if (unit === "YEAR_MONTH") return interval(Number(value), 0, 0n);
	if (unit === "DAY_TIME") {
		const { days: dayCount, milliseconds } = value as { days: number; milliseconds: number };
		return interval(0, dayCount, BigInt(milliseconds) * nanosecondsPer.ms);
	}
	const parts = value as { months: number; days: number; nanoseconds: number | string };
	return interval(parts.months, parts.days, BigInt(parts.nanoseconds));
}
