import type { Receipt } from "../../src/flow.ts";

/** How one file ended. */
export interface FileOutcome {
	/** `ok`, a code of the contract, `threw` (no IngestError) or `died`. */
	code: string;
	detail: string;
	rows: number;
	types: string[];
	warnings: Receipt["warnings"];
	differences: string[];
	references: string[];
	/** What the same bytes did when they came by in small chunks: `same`, or how they differ. */
	streamed: string;
}

export function failedOutcome(code: string, detail: string): FileOutcome {
	return {
		code,
		detail,
		rows: 0,
		types: [],
		warnings: [],
		differences: [],
		references: [],
		streamed: "",
	};
}
