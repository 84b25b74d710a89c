/** Names that differ in ASCII case alone are one name to DuckDB. */
export function foldCase(name: string): string {
	return name.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}
