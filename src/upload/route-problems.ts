/** Which codes a route can answer with: for OpenAPI, and for the test that holds answers to it. */
import type { ErrorCode } from "../errors.ts";
import { isBytesBody, type Right, type Route } from "./route.ts";

const always: ErrorCode[] = ["bad_request", "internal", "store_unavailable", "timeout"];
const keyed: ErrorCode[] = ["unauthenticated", "key_expired", "rate_limited"];

const ofRight = {
	open: [],
	metrics: ["forbidden_mode"],
	load: ["forbidden_table", "forbidden_mode"],
	upload: ["upload_not_found"],
	receipt: ["forbidden_mode", "load_not_found"],
	replay: ["forbidden_mode", "load_not_found"],
	table: ["forbidden_table", "forbidden_mode"],
	read: ["forbidden_table", "forbidden_mode"],
} as const satisfies Record<Right, readonly ErrorCode[]>;

const ofBody: ErrorCode[] = ["unsupported_media_type", "too_large", "truncated_stream"];

/** How a load can end, besides well: of routes that wait for it. */
export const loadProblems: readonly ErrorCode[] = [
	"not_arrow",
	"truncated_stream",
	"digest_mismatch",
	"table_not_found",
	"table_exists",
	"constraint_violation",
	"superseded",
	"load_in_progress",
	"upload_expired",
	"too_large",
	"unsupported_codec",
	"invalid_arrow",
	"unsupported_type",
	"duplicate_column",
	"schema_mismatch",
	"cast_failed",
	"idempotency_key_reused",
	"forbidden_mode",
	"forbidden_table",
	"busy",
	"row_count_mismatch",
	"target_unavailable",
];

/** What the first bytes can tell, where they are looked at. */
export const headProblems: readonly ErrorCode[] = [
	"not_arrow",
	"invalid_arrow",
	"unsupported_type",
	"duplicate_column",
];

/** Each code once. */
export function problemsOf(route: Route): ErrorCode[] {
	return [
		...new Set<ErrorCode>([
			...always,
			...(route.right === "open" ? [] : keyed),
			...ofRight[route.right],
			...(route.takes ? (["quota_exceeded"] as const) : []),
			...(route.body === null ? [] : ofBody),
			...(isBytesBody(route.body) ? (["digest_mismatch"] as const) : []),
			...(route.problems ?? []),
		]),
	];
}
