/**
 * What a route is. The table of them (`routes.ts`) is all there is: matching,
 * rights, validation and OpenAPI read it, and a handler runs only with what the
 * route's right granted.
 */
import type { z } from "zod";
import type { ErrorCode } from "../errors.ts";
import type { LoadParameters, Receipt, TableName, UploadRequest } from "../flow.ts";
import type { Log } from "../log.ts";
import type { Principal } from "../tenant/key-store.ts";
import type { Taking } from "../tenant/quotas.ts";
import type { AppDeps } from "./app-deps.ts";

/** What a handler gets of each right, checked. */
export interface Grants {
	/** Nobody needs a key; nothing of a tenant is touched. */
	open: null;
	/** Right `metrics`, or a peer on this machine. */
	metrics: null;
	/** The key holds the table and the mode that the request names. */
	load: LoadParameters;
	/** The upload is the tenant's, and the key holds its table and mode. */
	upload: UploadRequest;
	/** The load is the tenant's, and the key may read and holds the table. */
	receipt: Receipt;
	/** The load is the tenant's, and the key holds its table and mode today. */
	replay: Receipt;
	/** The key may read and holds the table in the path. */
	table: TableName;
	/** The key may read; the handler asks table by table. */
	read: { holds(table: TableName): boolean };
}
export type Right = keyof Grants;

export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

export interface Call<Query = unknown, Body = unknown> {
	deps: AppDeps;
	request: Request;
	/** `request.body`, or the runtime's better way to it. */
	openBody(): ReadableStream<Uint8Array> | null;
	requestId: string;
	traceparent: string | null;
	/** Path parameters, percent-decoded. */
	params: Readonly<Record<string, string>>;
	query: Query;
	body: Body;
	/** The caller; of open routes null. */
	principal: Principal | null;
	log: Log;
	/** What the audit line shall say besides. */
	note(fields: { load_id?: string; table?: string }): void;
	/** Headers that the answer has, whatever it is; the last word on each stands. */
	setHeaders(headers: Record<string, string>): void;
	/** Sends `104 Upload Resumption Supported`; null: the caller didn't ask in the draft's version, or the runtime can't. */
	inform: ((headers: Record<string, string>) => void) | null;
}

/** Bodies that aren't JSON: a load's bytes, and a piece of them. */
export const arrowBody = "arrow" as const;
export const partialBody = "partial" as const;
export type BytesBody = typeof arrowBody | typeof partialBody;

export function isBytesBody(body: Route["body"]): body is BytesBody {
	return body === arrowBody || body === partialBody;
}

export interface RouteAnswer {
	description: string;
	/** Null: no body. */
	schema: z.ZodType | null;
	contentType?: string;
	headers?: Record<string, string>;
}

export interface Route<
	R extends Right = Right,
	Q extends z.ZodType = z.ZodType,
	B extends z.ZodType | BytesBody | null = z.ZodType | BytesBody | null,
> {
	method: Method;
	/** `{name}` stands for one segment. */
	path: `/${string}`;
	/** Names the operation in OpenAPI. */
	id: string;
	summary: string;
	right: R;
	/** What it uses up of the tenant's quotas. */
	takes?: Taking | ((call: Call) => Taking);
	/** Of right `load`: what the request asks for. */
	target?(call: Call<z.output<Q>, BodyOf<B>>): LoadParameters;
	query: Q;
	body: B;
	/** Headers that mean something here, with what they mean. */
	headers?: Record<string, string>;
	/** What an OPTIONS of the path tells besides its methods. */
	options?(deps: AppDeps): Record<string, string>;
	answers: Record<number, RouteAnswer>;
	/** Codes besides those that right and body bring (`route-problems.ts`). */
	problems?: readonly ErrorCode[];
	handler(call: Call<z.output<Q>, BodyOf<B>>, granted: Grants[R]): Promise<Response>;
}

type BodyOf<B> = B extends z.ZodType ? z.output<B> : null;

/** Lets the types of a route be found by what it says; the table then holds them all. */
export function defineRoute<
	R extends Right,
	Q extends z.ZodType,
	B extends z.ZodType | BytesBody | null,
>(route: Route<R, Q, B>): Route {
	return route as unknown as Route;
}
