/**
 * A table of TPC-H lineitem's shape: 16 columns of its types and widths, five of
 * them strings, four decimal(15,2). For machines where the real generator is not
 * to be had; about 180 MB of Arrow for a million rows.
 */
import {
	commentColumn,
	dateColumn,
	int32Column,
	int64Column,
	moneyColumn,
	wordColumn,
	writeStream,
} from "./columns.ts";
import { createRandom } from "./random.ts";

const firstDay = 8036;
const days = 2500;

export function writeLineitem(path: string, rows: number, batchRows: number): Promise<void> {
	return writeStream(path, lineitemBatches(rows, batchRows));
}

function* lineitemBatches(rows: number, batchRows: number) {
	const random = createRandom(20_261_130);
	for (let start = 0; start < rows; start += batchRows) {
		const n = Math.min(batchRows, rows - start);
		const columns = {
			l_orderkey: int64Column(n, (row) => Math.floor((start + row) / 4)),
			l_partkey: int64Column(n, () => 1 + random.below(200_000)),
			l_suppkey: int64Column(n, () => 1 + random.below(10_000)),
			l_linenumber: int32Column(n, (row) => 1 + ((start + row) % 4)),
			l_quantity: moneyColumn(n, () => 100 * (1 + random.below(50))),
			l_extendedprice: moneyColumn(n, () => 90_000 + random.below(10_000_000)),
			l_discount: moneyColumn(n, () => random.below(11)),
			l_tax: moneyColumn(n, () => random.below(9)),
			l_returnflag: wordColumn(n, random, ["R", "A", "N"]),
			l_linestatus: wordColumn(n, random, ["O", "F"]),
			l_shipdate: dateColumn(n, () => firstDay + random.below(days)),
			l_commitdate: dateColumn(n, () => firstDay + random.below(days)),
			l_receiptdate: dateColumn(n, () => firstDay + random.below(days)),
			l_shipinstruct: wordColumn(n, random, [
				"DELIVER IN PERSON",
				"COLLECT COD",
				"NONE",
				"TAKE BACK RETURN",
			]),
			l_shipmode: wordColumn(n, random, ["REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB"]),
			l_comment: commentColumn(n, random, 10, 43),
		};
		yield { rows: n, columns };
	}
}
