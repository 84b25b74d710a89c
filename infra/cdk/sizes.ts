/** Numbers of the stack that its cost is computed from too. */

export const loaderMemoryMb = 4_096;
/** Copies of Parquet files, and what DuckDB spills: the most that Lambda has. */
export const loaderDiskGib = 10;
/** So long a versioned bucket keeps staged bytes that were removed: S3's least. */
export const noncurrentDays = 1;
