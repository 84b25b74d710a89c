/** What reading a source gives, and what it needs. */

import type { Warning } from "../flow.ts";
import type { Limits } from "../limits.ts";
import type { Codecs } from "./codecs.ts";
import type { MemoryPool } from "./memory-pool.ts";
import type { SentSchema } from "./schema.ts";
import type { DecodedBatch, GatheredBatches } from "./stream-decoder.ts";

export type SourceEvent =
	| { kind: "schema"; schema: SentSchema }
	/** Of the schema before it. */
	| { kind: "batch"; batch: DecodedBatch }
	/** Likewise, several of them. */
	| { kind: "batches"; batches: GatheredBatches };

export interface ReadOptions {
	limits: Limits;
	codecs: Codecs;
	/** For bodies of record batches; absent: they are the collector's. */
	pool?: MemoryPool | null;
	requireEos: boolean;
	signal: AbortSignal;
	onChunk(chunk: Uint8Array): void;
	warn(warning: Warning): void;
}

export interface SourceContext extends ReadOptions {
	/** Null: not known. */
	sourceBytes: number | null;
}
