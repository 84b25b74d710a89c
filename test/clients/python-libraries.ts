/** What people who write Python have installed, pinned. */
export const librariesOfToday = [
	"pyarrow==26.0.1",
	"polars==2.1.0",
	"pandas==3.1.1",
	"duckdb==1.5.5",
	"requests==2.34.2",
	"httpx==0.28.1",
];
