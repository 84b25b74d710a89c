/**
 * duckdock's client: Arrow bytes in, a receipt out. `fetch` only, so it runs in
 * browsers, Workers, Node and Deno.
 *
 *   const client = createIngestClient({ url: "https://ingest.example.com", key: "dk_…" });
 *   const receipt = await client.ingest("main.events", blob, { mode: "append" });
 *
 * The order of `ingest`: create the upload (or look up the one to resume) → send
 * the parts → complete → wait for the receipt. Every step may be repeated: nothing
 * that was committed is loaded twice.
 */
import type { ExtraColumnPolicy, LoadMode, LoadStatus, Problem, Receipt } from "../flow.ts";
import { ProblemError, SourceError } from "./client-errors.ts";
import { type ArrowSource, sizeOf } from "./cut-parts.ts";
import { createSendRequest, type HttpOptions, pause } from "./http-client.ts";
import { type PartsProgress, pushParts } from "./push-parts.ts";

export interface IngestClientOptions extends HttpOptions {
	/**
	 * Makes bytes of what is none of ArrowSource, such as a table of an Arrow library:
	 * with apache-arrow `(table) => RecordBatchStreamWriter.writeAll(table)`, which takes
	 * tables, record batches and readers.
	 */
	encode?: (value: never) => ArrowSource | Promise<ArrowSource>;
	/** Default: `crypto.subtle`, which every runtime has. */
	sha256?: (bytes: Uint8Array<ArrayBuffer>) => Uint8Array | Promise<Uint8Array>;
}

export interface IngestOptions {
	mode?: LoadMode;
	on_extra_columns?: ExtraColumnPolicy;
	dry_run?: boolean;
	require_eos?: boolean;
	/** Rows there should be: checked before anything is committed. */
	rows?: number;
	/** The same key and the same content are one load, however often they are sent. */
	idempotency_key?: string;
	/** Bytes a part; default: what the service asks for. A resumed upload needs the size it began with. */
	partSize?: number;
	/** Parts in flight; default 4. */
	parallel?: number;
	/** Total bytes where the source doesn't tell, for progress and an early no. */
	size?: number;
	/** An upload to go on with: parts that are there and the same are not sent again. */
	resume?: string;
	signal?: AbortSignal;
	/** Told once the upload exists, before the first part: keep its id to resume later. */
	onUpload?: (upload: OpenUpload) => void | Promise<void>;
	onProgress?: (progress: IngestProgress) => void;
}

export interface IngestProgress extends PartsProgress {
	step: "upload" | "load";
	/** Null where it isn't known. */
	bytesTotal: number | null;
	/** In the step `load`: the load as it is now. */
	load: LoadStatus | null;
}

/** The answer to `POST /v1/uploads`. */
export interface OpenUpload {
	upload_id: string;
	part_size: number;
	max_parts: number;
	max_bytes: number;
	expires_at: string;
	parts: "proxy" | "direct";
}

/** The answer to `GET /v1/uploads/{id}`. */
export interface UploadState {
	state: "open" | "completed" | "aborted" | "expired";
	parts: { n: number; size: number; sha256: string | null }[];
	load_id?: string;
	/** Present where the service tells them again. */
	part_size?: number;
	max_parts?: number;
	max_bytes?: number;
	mode?: "proxy" | "direct";
}

export interface HistoryOptions {
	table?: string;
	status?: LoadStatus;
	/** Receipts at most; default: all. */
	limit?: number;
	signal?: AbortSignal;
}

export interface IngestClient {
	/**
	 * Resolves with the receipt once committed (or dry run); a failed load throws its
	 * ProblemError. `source`: bytes, a blob, a stream or iterable of bytes, or whatever
	 * the client's `encode` makes them of.
	 */
	ingest(table: string, source: ArrowSource | object, options?: IngestOptions): Promise<Receipt>;
	upload(uploadId: string, signal?: AbortSignal): Promise<UploadState>;
	/** The receipt in whatever state the load is. */
	load(loadId: string, signal?: AbortSignal): Promise<Receipt>;
	/** Newest first. */
	loads(options?: HistoryOptions): AsyncGenerator<Receipt>;
	/** Runs a failed load again from what is staged, and waits for its end. */
	replay(loadId: string, signal?: AbortSignal): Promise<Receipt>;
	/** Gives up an open upload. */
	abort(uploadId: string, signal?: AbortSignal): Promise<void>;
}

/** Asked of the service in one request; then the load is polled. */
const waitSeconds = 25;
const maxPollMs = 2_000;
const historyPageRows = 100;

export function createIngestClient(options: IngestClientOptions): IngestClient {
	const send = createSendRequest(options);
	const json = { "Content-Type": "application/json" };
	const uploadPath = (id: string) => `/v1/uploads/${encodeURIComponent(id)}`;
	const loadPath = (id: string) => `/v1/loads/${encodeURIComponent(id)}`;

	const upload = async (id: string, signal?: AbortSignal) =>
		(await send({ method: "GET", path: uploadPath(id), signal })).json as UploadState;
	const load = async (id: string, signal?: AbortSignal) =>
		(await send({ method: "GET", path: loadPath(id), signal })).json as Receipt;

	/** Until the load has ended; a failed one throws. */
	async function ended(
		id: string,
		signal: AbortSignal | undefined,
		tell?: (status: LoadStatus) => void,
	): Promise<Receipt> {
		for (let waitMs = 50; ; waitMs = Math.min(maxPollMs, waitMs * 1.6)) {
			const receipt = await load(id, signal);
			tell?.(receipt.status);
			if (receipt.status === "committed" || receipt.status === "dry_run") return receipt;
			if (receipt.status === "failed") throw new ProblemError(failureOf(receipt));
			await pause(waitMs, signal);
		}
	}

	async function create(table: string, source: ArrowSource, ingest: IngestOptions) {
		const fields = {
			table,
			mode: ingest.mode,
			on_extra_columns: ingest.on_extra_columns,
			dry_run: ingest.dry_run,
			require_eos: ingest.require_eos,
			rows: ingest.rows,
			idempotency_key: ingest.idempotency_key,
		};
		const answer = await send({
			method: "POST",
			path: "/v1/uploads",
			headers: json,
			body: JSON.stringify(fields),
			signal: ingest.signal,
		});
		const opened = answer.json as OpenUpload;
		const size = ingest.size ?? sizeOf(source);
		if (size !== null && size > opened.max_bytes) {
			await send({ method: "DELETE", path: uploadPath(opened.upload_id), signal: ingest.signal });
			throw new ProblemError(tooLarge(size, opened.max_bytes));
		}
		// Larger parts where the asked ones would be more than may be.
		const least = size === null ? 1 : Math.ceil(size / opened.max_parts);
		return { ...opened, part_size: Math.max(ingest.partSize ?? opened.part_size, least) };
	}

	/** The receipt, or the id of the load to wait for: an idempotency key may have made another upload the load. */
	async function complete(id: string, parts: number, ingest: IngestOptions) {
		for (;;) {
			try {
				const answer = await send({
					method: "POST",
					path: `${uploadPath(id)}/complete`,
					headers: { ...json, Prefer: `wait=${waitSeconds}` },
					body: JSON.stringify({ parts, rows: ingest.rows }),
					signal: ingest.signal,
				});
				if (answer.status === 200) return { receipt: answer.json as Receipt, loadId: id };
				return { receipt: null, loadId: (answer.json as { load_id?: string }).load_id ?? id };
			} catch (error) {
				const running = error instanceof ProblemError && error.problem.code === "load_in_progress";
				if (!running) throw error;
				await pause(1000 * (error.retryAfterSeconds ?? 1), ingest.signal);
			}
		}
	}

	return {
		upload,
		load,
		async ingest(table, given, ingest = {}) {
			const { signal } = ingest;
			const source = await toSource(given, options.encode);
			const state = ingest.resume === undefined ? null : await upload(ingest.resume, signal);
			if (ingest.resume !== undefined && state !== null) {
				if (state.state === "completed") return ended(state.load_id ?? ingest.resume, signal);
				if (state.state !== "open") throw new ProblemError(uploadGone(ingest.resume, state.state));
			}
			const opened: OpenUpload =
				ingest.resume === undefined || state === null
					? await create(table, source, ingest)
					: {
							upload_id: ingest.resume,
							part_size: ingest.partSize ?? resumedPartSize(state),
							max_parts: state.max_parts ?? 10_000,
							max_bytes: state.max_bytes ?? Number.MAX_SAFE_INTEGER,
							expires_at: "",
							parts: state.mode ?? "proxy",
						};
			await ingest.onUpload?.(opened);
			let last: PartsProgress = { partsDone: 0, bytesDone: 0, bytesSkipped: 0, partsInFlight: 0 };
			const bytesTotal = ingest.size ?? sizeOf(source);
			const sent = await pushParts(source, send, {
				uploadId: opened.upload_id,
				partSize: opened.part_size,
				maxParts: opened.max_parts,
				maxBytes: opened.max_bytes,
				parallel: ingest.parallel ?? 4,
				parts: opened.parts,
				sha256: options.sha256 ?? subtleSha256,
				present: new Map(state?.parts.map((part) => [part.n, part])),
				signal,
				onProgress: (progress) => {
					last = progress;
					ingest.onProgress?.({ ...progress, step: "upload", bytesTotal, load: null });
				},
			});
			const tell = (status: LoadStatus) =>
				ingest.onProgress?.({ ...last, step: "load", bytesTotal: sent.bytes, load: status });
			tell("staged");
			const done = await complete(opened.upload_id, sent.parts, ingest);
			return done.receipt ?? (await ended(done.loadId, signal, tell));
		},
		async *loads(history = {}) {
			let left = history.limit ?? Number.POSITIVE_INFINITY;
			let cursor: string | null = null;
			do {
				const query = new URLSearchParams();
				if (history.table !== undefined) query.set("table", history.table);
				if (history.status !== undefined) query.set("status", history.status);
				if (cursor !== null) query.set("cursor", cursor);
				query.set("limit", String(Math.min(left, historyPageRows)));
				const path = `/v1/loads?${query}`;
				const answer = await send({ method: "GET", path, signal: history.signal });
				const page = answer.json as { loads: Receipt[]; cursor: string | null };
				for (const receipt of page.loads) {
					if (left <= 0) return;
					left -= 1;
					yield receipt;
				}
				cursor = page.cursor;
			} while (cursor !== null && left > 0);
		},
		async replay(id, signal) {
			const answer = await send({
				method: "POST",
				path: `${loadPath(id)}/replay`,
				headers: { Prefer: `wait=${waitSeconds}` },
				signal,
			});
			return answer.status === 200 ? (answer.json as Receipt) : ended(id, signal);
		},
		async abort(id, signal) {
			await send({ method: "DELETE", path: uploadPath(id), signal });
		},
	};
}

/** Tables, batches and readers of Arrow libraries iterate too, but not over bytes: their `schema` tells them. */
function toSource(
	given: ArrowSource | object,
	encode: IngestClientOptions["encode"],
): ArrowSource | Promise<ArrowSource> {
	if ("schema" in given) {
		if (encode !== undefined) return encode(given as never);
		throw new SourceError(
			"a table, batch or reader needs the client's option encode to become bytes",
		);
	}
	const isSource =
		given instanceof Uint8Array ||
		given instanceof Blob ||
		given instanceof ReadableStream ||
		Symbol.asyncIterator in given ||
		Symbol.iterator in given;
	if (isSource) return given as ArrowSource;
	throw new SourceError("the source is no bytes, blob, stream or iterable of bytes");
}

async function subtleSha256(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
	return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
}

/** Parts but the last have one size; of a single part nothing is known but that it is no larger. */
function resumedPartSize(state: UploadState): number {
	const largest = Math.max(0, ...state.parts.map((part) => part.size));
	return state.parts.length > 1 ? largest : (state.part_size ?? (largest || 8 * 1024 * 1024));
}

function failureOf(receipt: Receipt): Problem {
	return (
		receipt.error ?? {
			type: "about:blank",
			title: "internal",
			status: 500,
			detail: `load ${receipt.load_id} failed and its receipt does not say why`,
			code: "internal",
			retryable: true,
			load_id: receipt.load_id,
		}
	);
}

function tooLarge(size: number, maxBytes: number): Problem {
	return {
		type: "about:blank",
		title: "too large",
		status: 413,
		detail: `the source has ${size} bytes; one upload may have ${maxBytes}`,
		code: "too_large",
		retryable: false,
	};
}

function uploadGone(id: string, state: string): Problem {
	return {
		type: "about:blank",
		title: "upload gone",
		status: 410,
		detail: `upload ${id} is ${state}: start a new one`,
		code: "upload_expired",
		retryable: false,
	};
}
