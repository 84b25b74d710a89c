/**
 * `duckdock load`: byte sources straight into a database, without store, queue or
 * lease; the same decoding, checks, transaction and ledger as the service's.
 *
 * With an `idempotency_key` the load's id is made of it, so the ledger answers a
 * repeat. Without one the same files load again when asked again.
 */

import { createHash } from "node:crypto";
import type { BatchReader } from "../arrow/batch-reader.ts";
import type { ByteSource } from "../arrow/byte-source.ts";
import { openArrow } from "../arrow/open-arrow.ts";
import type { Clock } from "../clock.ts";
import { IngestError } from "../errors.ts";
import type { LoadParameters, LoadSource, Receipt } from "../flow.ts";
import type { BatchSink, InsertJob, SinkDatabase } from "../insert/batch-sink.ts";
import type { Limits } from "../limits.ts";
import { foldName, formatTableName } from "../table-name.ts";
import { assertCounts } from "./assert-counts.ts";
import { loadReceipt } from "./load-receipt.ts";
import { nodeCodecs } from "./node-codecs.ts";

export interface LoadFilesOptions {
	/** One load, in this order. */
	sources: readonly ByteSource[];
	source: LoadSource;
	tenant: string;
	parameters: LoadParameters;
	sink: BatchSink;
	clock: Clock;
	limits: Limits;
	newId(): string;
	signal: AbortSignal;
	/** Rows handed to the engine so far. */
	onRows?: (rows: number) => void;
}

/** The receipt, also that of an earlier load with this key. Throws the IngestError that the load failed with. */
export async function loadFiles(options: LoadFilesOptions): Promise<Receipt> {
	const { parameters, tenant, sink, signal } = options;
	const key = parameters.dry_run ? null : parameters.idempotency_key;
	const id = key === null ? options.newId() : idOfKey(tenant, key);
	const database = await sink.open(tenant, signal);
	try {
		const before = key === null ? null : await database.findLoad(id);
		if (before !== null) return await assertSame(options, before);
		return await insert(options, database, id);
	} finally {
		await database.close();
	}
}

async function insert(
	options: LoadFilesOptions,
	database: SinkDatabase,
	upload_id: string,
): Promise<Receipt> {
	const { parameters, sources, source, tenant, clock, limits, signal } = options;
	const startedAt = clock.now();
	let attempts = 0;
	const open = async (): Promise<InsertJob> => {
		attempts++;
		const reader = await openArrow(sources, {
			codecs: nodeCodecs,
			limits,
			requireEos: parameters.require_eos,
			signal,
		});
		return {
			loadId: upload_id,
			parameters,
			reader: counted(reader, options.onRows),
			signal,
			beforeCommit: async (counts) =>
				assertCounts({ rows: parameters.rows, repr_digest: null }, counts),
			receipt: (result, counts) =>
				loadReceipt({ ...parameters, upload_id, tenant, source, parts: sources }, result, counts, {
					attempts,
					startedAt,
					endedAt: clock.now(),
				}),
		};
	};
	const [outcome] = await database.insert([await open()], open);
	if (outcome !== undefined && "receipt" in outcome) return outcome.receipt;
	throw outcome?.error;
}

/** `idempotency_key_reused` unless the earlier load had this content. */
async function assertSame(options: LoadFilesOptions, before: Receipt): Promise<Receipt> {
	const { parameters, sources, signal } = options;
	const hash = nodeCodecs.createSha256();
	for (const source of sources) for await (const chunk of source.stream(signal)) hash.update(chunk);
	const digest = `sha-256=:${Buffer.from(hash.digestHex(), "hex").toString("base64")}:`;
	const table = formatTableName(parameters.table);
	if (
		digest === before.repr_digest &&
		parameters.mode === before.mode &&
		foldName(table) === foldName(before.table)
	) {
		return before;
	}
	throw new IngestError(
		"idempotency_key_reused",
		`this key stands for load ${before.load_id}: ${before.mode} into ${before.table} of ${before.repr_digest}; this is ${parameters.mode} into ${table} of ${digest}`,
		{ extra: { load_id: before.load_id } },
	);
}

function counted(reader: BatchReader, onRows: ((rows: number) => void) | undefined): BatchReader {
	if (onRows === undefined) return reader;
	return {
		sentFields: reader.sentFields,
		engineFields: reader.engineFields,
		async *batches(signal) {
			let rows = 0;
			for await (const batch of reader.batches(signal)) {
				yield batch;
				rows += batch.length;
				onRows(rows);
			}
		},
		counts: () => reader.counts(),
		warnings: () => reader.warnings(),
	};
}

const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/** 128 bits of the key's digest in the form of an id: the same key, the same load. */
export function idOfKey(tenant: string, key: string): string {
	const digest = createHash("sha256").update(`${tenant}\0${key}`).digest("hex");
	let bits = BigInt(`0x${digest.slice(0, 32)}`);
	let id = "";
	for (let at = 0; at < 26; at++) {
		id = crockford[Number(bits & 31n)] + id;
		bits >>= 5n;
	}
	return id;
}
