/**
 * Where the outcome is not what the index says, and why that is right. By file, so
 * that nothing else slips in under a rule.
 */

export interface Exception {
	path: RegExp;
	/** Codes that are right here. */
	codes: string[];
	reason: string;
}

/** Files that the index says to accept and DuckDB has no place for. */
export const refusedWithReason: Exception[] = [
	{
		path: /generated_duplicate_fieldnames\.|(littleendian|bigendian)\/generated_union\./,
		codes: ["duplicate_column"],
		reason: "two columns of one name: a table cannot have them",
	},
	{
		path: /generated_decimal256\./,
		codes: ["invalid_arrow", "unsupported_type"],
		reason: "values beyond the precision of their own type, and beyond the 38 digits of DECIMAL",
	},
	{
		path: /(0\.14\.1|bigendian)\/generated_interval\.|cpp-21\.0\.0\/generated_duration\./,
		codes: ["cast_failed"],
		reason: "durations of up to 2^63 seconds: an INTERVAL counts microseconds in 64 bits",
	},
	{
		path: /flechette\/test\/data\/empty_struct\.arrows?$/,
		codes: ["unsupported_type"],
		reason: "a struct without members is no type of DuckDB",
	},
];

/**
 * Files that flechette reads wrongly, and the file beside them with the same values
 * that it reads rightly. The experimental compression of Arrow 0.17.0 stands in the
 * message's metadata only: flechette takes the compressed bytes for values.
 */
export const sameValuesAs: Record<string, string> = {
	"data-arrow_0.17.0_lz4.feather": "data-arrow_0.17.0_uncompressed.feather",
};
