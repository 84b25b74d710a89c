/**
 * The one place where a principal meets a route: who may do what is decided here,
 * before any handler runs.
 *
 * What the caller names (a table, a mode) is refused with 403 before anybody
 * looks whether it is there; what the caller points at by an id (an upload, a
 * load) and may not have answers as if it were not there.
 */
import { IngestError } from "../errors.ts";
import type { LoadParameters, Receipt, TableName, UploadRequest } from "../flow.ts";
import { getJson } from "../stage/json-object.ts";
import { isUploadId, uploadKey } from "../stage/object-keys.ts";
import { assertWritable, formatTableName, parseTableName } from "../table-name.ts";
import type { Principal } from "../tenant/key-store.ts";
import { type Right as KeyRight, rightsOfLoad } from "../tenant/rights.ts";
import { holdsTable } from "../tenant/table-patterns.ts";
import type { AppDeps } from "./app-deps.ts";
import type { Call, Grants, Right, Route } from "./route.ts";

/** What the right of `route` grants to the caller, or 401, 403, 404. */
export async function authorise(route: Route, call: Call, env: unknown): Promise<Grants[Right]> {
	const { deps, params } = call;
	switch (route.right) {
		case "open":
			return null;
		case "metrics":
			if (call.principal === null && deps.isLoopbackPeer?.(call.request, env)) return null;
			assertRights(someone(call), ["metrics"]);
			return null;
		case "load": {
			const load = route.target!(call);
			assertMayLoad(someone(call), load);
			return load;
		}
		case "upload":
			return findUpload(deps, someone(call), params.id!);
		case "receipt":
			return findReceipt(deps, someone(call), params.id!);
		case "replay":
			return findOwnLoad(deps, someone(call), params.id!);
		case "table": {
			const principal = someone(call);
			assertRights(principal, ["read"]);
			const table = parseTableName(params.table!);
			assertHolds(principal, table);
			return table;
		}
		case "read": {
			const principal = someone(call);
			assertRights(principal, ["read"]);
			return { holds: (table) => mayHold(principal, table) };
		}
	}
}

/** A load by its parameters: `forbidden_table`, `forbidden_mode`. */
export function assertMayLoad(principal: Principal, load: LoadParameters): void {
	assertHolds(principal, load.table);
	assertRights(principal, rightsOfLoad(load.mode, load.on_extra_columns));
}

/** A table that the caller names: `forbidden_table`, `bad_request`. */
export function assertHolds(principal: Principal, table: TableName): void {
	assertWritable(table);
	if (holdsTable(principal.tables, table)) return;
	throw new IngestError(
		"forbidden_table",
		`key ${principal.keyId} does not hold table ${formatTableName(table)}`,
	);
}

function mayHold(principal: Principal, table: TableName): boolean {
	try {
		assertHolds(principal, table);
		return true;
	} catch (error) {
		if (error instanceof IngestError) return false;
		throw error;
	}
}

function assertRights(principal: Principal, needed: readonly KeyRight[]): void {
	const missing = needed.filter((right) => !principal.rights.has(right));
	if (missing.length === 0) return;
	throw new IngestError(
		"forbidden_mode",
		`key ${principal.keyId} lacks the right ${missing.join(", ")}`,
	);
}

/** The tenant's own upload whose table and mode the key holds; else `upload_not_found`. */
async function findUpload(deps: AppDeps, principal: Principal, id: string): Promise<UploadRequest> {
	const upload = isUploadId(id) ? await readUploadRequest(deps, principal.tenant, id) : null;
	if (upload && mayLoad(principal, upload)) return upload;
	throw new IngestError("upload_not_found", "there is no such upload");
}

async function findReceipt(deps: AppDeps, principal: Principal, id: string): Promise<Receipt> {
	assertRights(principal, ["read"]);
	const receipt = isUploadId(id) ? await deps.receipts.read(principal.tenant, id) : null;
	if (receipt && mayHold(principal, parseTableName(receipt.table))) return receipt;
	throw new IngestError("load_not_found", "there is no such load");
}

/** A load to be run again: today's key must hold its table and mode, else `load_not_found`. */
async function findOwnLoad(deps: AppDeps, principal: Principal, id: string): Promise<Receipt> {
	const receipt = isUploadId(id) ? await deps.receipts.read(principal.tenant, id) : null;
	if (receipt && mayHold(principal, parseTableName(receipt.table))) {
		const request = await readUploadRequest(deps, principal.tenant, id);
		const policy = request?.on_extra_columns ?? "error";
		assertRights(principal, rightsOfLoad(receipt.mode, policy));
		return receipt;
	}
	throw new IngestError("load_not_found", "there is no such load");
}

function mayLoad(principal: Principal, load: LoadParameters): boolean {
	try {
		assertMayLoad(principal, load);
		return true;
	} catch (error) {
		if (error instanceof IngestError) return false;
		throw error;
	}
}

function someone(call: Call): Principal {
	if (call.principal) return call.principal;
	throw new IngestError("unauthenticated", "no key: send the header Authorization: Bearer dk_…");
}

async function readUploadRequest(
	deps: AppDeps,
	tenant: string,
	id: string,
): Promise<UploadRequest | null> {
	return (await getJson<UploadRequest>(deps.store, uploadKey(tenant, id)))?.value ?? null;
}
