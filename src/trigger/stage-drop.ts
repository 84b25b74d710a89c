/**
 * A file under `drop/` becomes a load: once per version of the object, by the same
 * manifest that uploads have. The file itself is its one part, read where it lies;
 * it is never moved and never deleted.
 *
 *   the tenant's rule > the object as it is now > the claim (which load is this
 *   version's) > what refuses it at once gets its receipt > the manifest > the job
 *
 * Every step can be repeated and every event may come often: the claim is created
 * once, the manifest is created once, and a load that has ended stays ended. A file
 * that failed is not tried again by another event, only by a replay, or by a new
 * version of it.
 */

import * as z from "zod";
import type { Clock } from "../clock.ts";
import { asIngestError, IngestError } from "../errors.ts";
import type { LoadMode, Manifest, ReplayJob, TableName } from "../flow.ts";
import type { Limits } from "../limits.ts";
import type { Log } from "../log.ts";
import { failedReceipt } from "../receipt/pending-receipt.ts";
import { isFinal, type ReceiptBook } from "../receipt/receipt-book.ts";
import { type DropPlace, dropRuleKey, parseDropKey, tableOfPlace } from "../stage/drop-key.ts";
import { getJson, putJson } from "../stage/json-object.ts";
import { idempotencyKey, isUploadId, manifestKey } from "../stage/object-keys.ts";
import type { ObjectInfo, ObjectStore } from "../stage/object-store.ts";
import { assertWritable, formatTableName } from "../table-name.ts";
import { holdsTable, parseTablePattern } from "../tenant/table-patterns.ts";
import { problemOf } from "../upload/problem-json.ts";
import type { DropObject } from "./s3-event.ts";

export interface DropDeps {
	store: ObjectStore;
	/** Where `drop/` lies. */
	dropStore: ObjectStore;
	receipts: Pick<ReceiptBook, "read" | "write">;
	clock: Clock;
	log: Log;
	limits: Pick<Limits, "maxUploadBytes">;
	newId(): string;
	send(job: ReplayJob): Promise<void>;
}

export type DropOutcome =
	/** The load of this version, whether new, running or done. */
	| { kind: "load"; loadId: string }
	/** No load comes of it. */
	| { kind: "nothing"; why: string };

const ruleSchema = z.object({ tables: z.array(z.string()), modes: z.array(z.string()) });
type Rule = z.infer<typeof ruleSchema>;

interface Claim {
	upload_id: string;
	bucket: string;
	key: string;
	/** versionId, or the ETag where the bucket keeps no versions. */
	identity: string;
	claimed_at: string;
}

/** `internal` where `drop.json` is not a rule: nothing is loaded by half of one. */
export async function stageDrop(deps: DropDeps, object: DropObject): Promise<DropOutcome> {
	const place = parseDropKey(object.key);
	if (place === null) return { kind: "nothing", why: "the key is none of a file to load" };
	const rule = await readRule(deps.dropStore, place.tenant);
	if (rule === null) {
		return { kind: "nothing", why: `drop/ is off for tenant ${place.tenant}: no drop.json` };
	}
	const there = await deps.dropStore.head(object.key);
	const id = await claim(deps, place.tenant, object, there);
	const receipt = await deps.receipts.read(place.tenant, id);
	if (receipt !== null) {
		// Staged before: whoever loads it sees for itself whether it is still the one.
		if (!isFinal(receipt.status)) await deps.send({ tenant: place.tenant, upload_id: id });
		return { kind: "load", loadId: id };
	}

	const manifest = manifestOf(deps, place, object, there, id);
	try {
		const table = tableOfPlace(place);
		manifest.table = table;
		manifest.mode = modeOf(place, rule, table);
		assertStillThere(object, there);
		if (there!.size > deps.limits.maxUploadBytes) {
			throw new IngestError(
				"too_large",
				`the file has ${there!.size} bytes, a load takes ${deps.limits.maxUploadBytes}`,
			);
		}
	} catch (error) {
		await refuse(deps, manifest, error);
		return { kind: "load", loadId: id };
	}
	await putJson(deps.store, manifestKey(place.tenant, id), manifest, { ifAbsent: true });
	await deps.send({ tenant: place.tenant, upload_id: id });
	return { kind: "load", loadId: id };
}

/** The mode that the file's place asks for, where the rule has it. `forbidden_table`, `forbidden_mode`, `bad_request`. */
function modeOf({ mode }: DropPlace, rule: Rule, table: TableName): LoadMode {
	assertWritable(table);
	if (!holdsTable(rule.tables.map(parseTablePattern), table)) {
		throw new IngestError(
			"forbidden_table",
			`drop.json does not name the table ${formatTableName(table)}`,
		);
	}
	if (mode !== null && mode !== "append" && mode !== "replace") {
		throw new IngestError(
			"bad_request",
			`a file's mode is append or mode=replace, not mode=${mode.slice(0, 100)}`,
		);
	}
	const wanted = mode ?? "append";
	if (!rule.modes.includes(wanted)) {
		throw new IngestError("forbidden_mode", `drop.json does not allow the mode ${wanted}`);
	}
	// A missing table is made where the rule lets files make tables.
	return wanted === "append" && rule.modes.includes("create") ? "create_append" : wanted;
}

/** `superseded`: the object is not the one that the event tells of. */
function assertStillThere(object: DropObject, there: ObjectInfo | null): void {
	if (there === null) {
		throw new IngestError("superseded", `${object.key} is not there any more`);
	}
	const version = there.version ?? null;
	const same =
		object.version !== null && version !== null
			? object.version === version
			: object.etag === unquoted(there.etag);
	if (same) return;
	throw new IngestError(
		"superseded",
		`${object.key} is version ${version ?? unquoted(there.etag)} by now, no longer ${object.version ?? object.etag}`,
	);
}

/** Which load is this version's: the first event's, for ever. */
async function claim(
	deps: DropDeps,
	tenant: string,
	object: DropObject,
	there: ObjectInfo | null,
): Promise<string> {
	// A listing tells no version; the object itself does.
	const same = there !== null && unquoted(there.etag) === object.etag;
	const identity = object.version ?? (same ? there.version : null) ?? object.etag;
	// No caller's key holds a line break, so none is taken for this.
	const key = await idempotencyKey(tenant, `drop\n${object.bucket}\n${object.key}\n${identity}`);
	const claimed_at = new Date(deps.clock.now()).toISOString();
	const mine: Claim = {
		upload_id: deps.newId(),
		bucket: object.bucket,
		key: object.key,
		identity,
		claimed_at,
	};
	const held = await getJson<Claim>(deps.store, key);
	if (held !== null) return idOf(held.value);
	if ((await putJson(deps.store, key, mine, { ifAbsent: true })) !== null) return mine.upload_id;
	const winner = await getJson<Claim>(deps.store, key);
	if (winner !== null) return idOf(winner.value);
	throw new IngestError("store_unavailable", `the claim of ${object.key} could not be read`);
}

function idOf({ upload_id: id }: Claim): string {
	if (isUploadId(id)) return id;
	throw new IngestError("internal", "a claim of a file names no load");
}

async function readRule(store: ObjectStore, tenant: string): Promise<Rule | null> {
	const stored = await getJson<unknown>(store, dropRuleKey(tenant));
	if (stored === null) return null;
	const rule = ruleSchema.safeParse(stored.value);
	if (rule.success) return rule.data;
	throw new IngestError("internal", `${dropRuleKey(tenant)} is no {tables, modes}`, {
		cause: rule.error,
	});
}

function manifestOf(
	deps: DropDeps,
	place: DropPlace,
	object: DropObject,
	there: ObjectInfo | null,
	id: string,
): Manifest {
	const now = new Date(deps.clock.now()).toISOString();
	return {
		upload_id: id,
		tenant: place.tenant,
		table: { schema: place.schema, table: place.table },
		mode: place.mode === "replace" ? "replace" : "append",
		on_extra_columns: "error",
		dry_run: false,
		require_eos: false,
		rows: null,
		idempotency_key: null,
		key_id: null,
		rights: [],
		source: {
			kind: "drop",
			bucket: object.bucket,
			key: object.key,
			version: object.version ?? there?.version ?? null,
			etag: object.etag,
			sequencer: object.sequencer,
			last_modified: new Date(there?.lastModified ?? deps.clock.now()).toISOString(),
		},
		content_encoding: "identity",
		request_id: `drop-${id}`,
		traceparent: null,
		created_at: now,
		expires_at: now,
		parts:
			there === null
				? []
				: [{ n: 1, key: object.key, size: there.size, etag: there.etag, sha256: null }],
		repr_digest: null,
		completed_at: now,
	};
}

/** The receipt first: nobody loads what has one. Then the manifest, so that a replay finds what to load. */
async function refuse(deps: DropDeps, manifest: Manifest, thrown: unknown): Promise<void> {
	const error = asIngestError(thrown);
	const { tenant, upload_id: id } = manifest;
	const now = deps.clock.now();
	const problem = problemOf(error, { instance: `/v1/loads/${id}`, load_id: id });
	await deps.receipts.write(
		failedReceipt(manifest, { problem, startedAt: now, endedAt: now, attempts: 0 }),
	);
	if (error.code !== "superseded" && error.code !== "bad_request") {
		await putJson(deps.store, manifestKey(tenant, id), manifest, { ifAbsent: true });
	}
	deps.log.warn("a file was refused", {
		tenant,
		load_id: id,
		code: error.code,
		error: error.message,
	});
}

const unquoted = (etag: string) => etag.replace(/^"|"$/g, "");
