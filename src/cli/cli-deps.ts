/** What the commands need of the world; `functions/duckdock.node.ts` constructs it. */
import type { Clock } from "../clock.ts";
import type { LoadParameters, Receipt } from "../flow.ts";
import type { ObjectStore } from "../stage/object-store.ts";

export interface CliDeps {
	clock: Clock;
	/** Ctrl-C and SIGTERM. */
	signal: AbortSignal;
	stdin: AsyncIterable<Uint8Array>;
	stdout: NodeJS.WritableStream;
	stderr: NodeJS.WritableStream & { isTTY?: boolean };
	/** `DUCKDOCK_URL`, `DUCKDOCK_KEY`. */
	url: string | undefined;
	key: string | undefined;
	/** Where unfinished uploads are remembered. */
	stateFolder: string;
	version: string;
	/** Stores as configured; a ConfigError names what is wrong. */
	openStore(): Promise<ObjectStore>;
	openKeysStore(): Promise<ObjectStore>;
	openDropStore(): Promise<ObjectStore>;
	/** Loads files into a DuckDB file, in this process. An IngestError is the problem. */
	loadFiles(request: LoadFilesRequest): Promise<Receipt>;
	/** Resolves once it listens; `stopped` once it has drained after the signal. */
	serve(signal: AbortSignal): Promise<{ url: string; stopped: Promise<void> }>;
	/** Removes what has expired and returns the keys removed. */
	collectGarbage(signal: AbortSignal): Promise<string[]>;
	/** In the order in which they depend on each other. */
	doctorChecks(target: string | undefined): DoctorCheck[];
}

export interface LoadFilesRequest {
	/** In order; `size` null: bytes that come by, from `open`. */
	files: readonly { path: string; size: number | null }[];
	/** Standard input, or a pipe by its path. */
	open(path: string): AsyncIterable<Uint8Array>;
	/** The DuckDB file; made if it isn't there. */
	dbPath: string;
	parameters: LoadParameters;
	signal: AbortSignal;
	onRows?: (rows: number) => void;
	/** Committed; the database is let go after it. */
	onReceipt?: (receipt: Receipt) => void;
}

export interface DoctorCheck {
	name: string;
	/** Resolves with what was seen; throws what is wrong. */
	run(): Promise<string>;
	/** What mends it. */
	fix: string;
}
