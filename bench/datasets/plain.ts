/** Tables of numbers: a narrow one, and a wide one of int64 alone. */
import { float64Column, int64Column, writeStream } from "./columns.ts";
import { createRandom } from "./random.ts";

export function writeNarrow(path: string, rows: number, batchRows: number): Promise<void> {
	return writeStream(path, narrowBatches(rows, batchRows));
}

function* narrowBatches(rows: number, batchRows: number) {
	const random = createRandom(5);
	for (let start = 0; start < rows; start += batchRows) {
		const n = Math.min(batchRows, rows - start);
		const columns = {
			id: int64Column(n, (row) => start + row),
			value: float64Column(n, () => random.below(1_000_000) / 1_000),
		};
		yield { rows: n, columns };
	}
}

export function writeWide(
	path: string,
	rows: number,
	batchRows: number,
	width: number,
): Promise<void> {
	return writeStream(path, wideBatches(rows, batchRows, width));
}

function* wideBatches(rows: number, batchRows: number, width: number) {
	const random = createRandom(50);
	for (let start = 0; start < rows; start += batchRows) {
		const n = Math.min(batchRows, rows - start);
		const columns = Object.fromEntries(
			Array.from({ length: width }, (_, at) => [
				`c${String(at).padStart(2, "0")}`,
				int64Column(n, (row) => (at === 0 ? start + row : random.below(2 ** 31))),
			]),
		);
		yield { rows: n, columns };
	}
}
