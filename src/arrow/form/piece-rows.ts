/** How a big batch is cut, so that DuckDB scans full vectors in several threads. */

/** Rows of one DuckDB vector. */
const vectorRows = 2_048;

/** Rows of each piece but the last: a whole number of vectors, at most `maxRows` where that is a vector or more. */
export function pieceRows(length: number, maxRows: number): number {
	const pieces = Math.ceil(length / maxRows);
	const even = Math.ceil(length / pieces / vectorRows) * vectorRows;
	const most = maxRows - (maxRows % vectorRows);
	return Math.max(vectorRows, Math.min(even, most));
}
