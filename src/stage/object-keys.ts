/**
 * Every key of the object layout, built and read in one place.
 *
 *   uploads/{tenant}/{id}/upload.json
 *   uploads/{tenant}/{id}/parts/{00001}[.{generation}.{ulid}]   sent again: never over bytes that a manifest may name
 *   uploads/{tenant}/{id}/sums/{part name}~{sha256}             empty; what a handler saw of that part's bytes
 *   uploads/{tenant}/{id}/length.json                           of an upload that grows by appends, once it is known
 *   uploads/{tenant}/{id}/manifest.json
 *   uploads/{tenant}/{id}/lease/{generation}
 *   idempotency/{tenant}/{sha256 of key}.json
 *   loads/{tenant}/{id}.json
 *   index/{tenant}/{reverse ULID}
 *   tables/{tenant}/{schema}/{table}.json
 *   drop/{tenant}/{schema}/{table}/[mode=…/]{any}
 *   keys/{keyid}.json
 *
 * Names are percent-encoded; a tenant and an id keep their grammar in both
 * directions, so no name of a caller ever becomes a path of another tenant.
 */

import { IngestError } from "../errors.ts";
import type { TableName } from "../flow.ts";
import { assertTenantName, isTenantName } from "../tenant/tenant-name.ts";

/** https://github.com/ulid/spec: 26 characters of Crockford's base 32, the first 0 to 7. */
const ulidGrammar = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/;
const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
/** Names whose encoded form is longer are named by their digest: a key has 1,024 bytes. */
const maxEncodedNameBytes = 300;

export function isUploadId(id: unknown): id is string {
	return typeof id === "string" && ulidGrammar.test(id);
}

/** The id itself; what has not its form is not there: `upload_not_found`. */
export function assertUploadId(id: string): string {
	if (isUploadId(id)) return id;
	throw new IngestError("upload_not_found", "there is no such upload");
}

export const uploadsPrefix = "uploads/";
export const tenantUploadsPrefix = (tenant: string) => `uploads/${assertTenantName(tenant)}/`;
export const uploadPrefix = (tenant: string, id: string) =>
	`uploads/${assertTenantName(tenant)}/${assertUploadId(id)}/`;
export const uploadKey = (tenant: string, id: string) => `${uploadPrefix(tenant, id)}upload.json`;
export const manifestKey = (tenant: string, id: string) =>
	`${uploadPrefix(tenant, id)}manifest.json`;
export const lengthKey = (tenant: string, id: string) => `${uploadPrefix(tenant, id)}length.json`;
export const partsPrefix = (tenant: string, id: string) => `${uploadPrefix(tenant, id)}parts/`;
export const sumsPrefix = (tenant: string, id: string) => `${uploadPrefix(tenant, id)}sums/`;
export const leasePrefix = (tenant: string, id: string) => `${uploadPrefix(tenant, id)}lease/`;
export const leaseKey = (tenant: string, id: string, generation: number) =>
	`${leasePrefix(tenant, id)}${String(generation).padStart(6, "0")}`;
export const receiptKey = (tenant: string, id: string) =>
	`loads/${assertTenantName(tenant)}/${assertUploadId(id)}.json`;
export const receiptsPrefix = (tenant: string) => `loads/${assertTenantName(tenant)}/`;
export const indexPrefix = (tenant: string) => `index/${assertTenantName(tenant)}/`;
export const indexKey = (tenant: string, id: string) => `${indexPrefix(tenant)}${reverseId(id)}`;

/** `00001`: the part's first bytes. */
export const partName = (n: number) => String(n).padStart(5, "0");
/** Bytes sent again for the same part, in the order of `generation`, then of `id`. */
export const repeatedPartName = (n: number, generation: number, id: string) =>
	`${partName(n)}.${String(generation).padStart(6, "0")}.${id}`;
export const partKey = (tenant: string, id: string, name: string) =>
	`${partsPrefix(tenant, id)}${name}`;
export const sumKey = (tenant: string, id: string, name: string, sha256: string) =>
	`${sumsPrefix(tenant, id)}${name}~${sha256}`;

const partGrammar = /^(\d{5,})(?:\.(\d{6,})\.[0-9A-Z]{26})?$/;

/** Number and generation of a key under `parts/`; null for a key that none of us made. */
export function parsePartName(name: string): { n: number; generation: number } | null {
	const match = partGrammar.exec(name);
	return match === null ? null : { n: Number(match[1]), generation: Number(match[2] ?? 0) };
}

/** Of `uploads/{tenant}/{id}/{rest}`; null where tenant or id break their grammar. */
export function parseUploadKey(key: string): { tenant: string; id: string; rest: string } | null {
	const [top, tenant, id, ...rest] = key.split("/");
	if (top !== "uploads" || rest.length === 0 || !isTenantName(tenant) || !isUploadId(id)) {
		return null;
	}
	return { tenant, id, rest: rest.join("/") };
}

/** So that the newest comes first in a listing: each digit of base 32 taken from 31. */
export function reverseId(id: string): string {
	let reversed = "";
	for (const digit of assertUploadId(id)) {
		reversed += crockford[31 - crockford.indexOf(digit)];
	}
	return reversed;
}

/** The id of a key under `index/`, or null. */
export function idOfIndexKey(key: string): string | null {
	let id = "";
	for (const digit of key.slice(key.lastIndexOf("/") + 1)) {
		const value = crockford.indexOf(digit);
		if (value < 0) return null;
		id += crockford[31 - value];
	}
	return isUploadId(id) ? id : null;
}

/** The key is a secret of the caller: only its digest is stored. */
export async function idempotencyKey(tenant: string, key: string): Promise<string> {
	return `idempotency/${assertTenantName(tenant)}/${await sha256OfText(key)}.json`;
}

export const tablesPrefix = (tenant: string) => `tables/${assertTenantName(tenant)}/`;

/** All spellings of a name that DuckDB takes for one are one key. */
export async function tableKey(tenant: string, { schema, table }: TableName): Promise<string> {
	const folder = await encodeName(foldCase(schema));
	return `${tablesPrefix(tenant)}${folder}/${await encodeName(foldCase(table))}.json`;
}

const foldCase = (name: string) => name.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());

/** One segment of a key: percent-encoded, also where it is all dots; by digest where it is long. */
async function encodeName(name: string): Promise<string> {
	const encoded = encodeURIComponent(name).replace(/^\.+$/, (dots) => "%2E".repeat(dots.length));
	if (encoded.length <= maxEncodedNameBytes) return encoded;
	return `${encoded.slice(0, 90)}~${await sha256OfText(name)}`;
}

async function sha256OfText(text: string): Promise<string> {
	const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
	return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
