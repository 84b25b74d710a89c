import { describe, expect, test } from "vitest";
import { errorCodes, IngestError } from "../../../src/errors.ts";
import { silentLog } from "../../../src/log.ts";
import type { Principal } from "../../../src/tenant/key-store.ts";
import type { AppDeps } from "../../../src/upload/app-deps.ts";
import { createApp } from "../../../src/upload/create-app.ts";
import { matchRoute } from "../../../src/upload/match-route.ts";
import { openapiDocument } from "../../../src/upload/openapi.ts";
import { problemKinds } from "../../../src/upload/problem-json.ts";
import { problemsOf } from "../../../src/upload/route-problems.ts";
import { routes } from "../../../src/upload/routes.ts";
import { problemSchema } from "../../../src/upload/schemas.ts";

/** What API.md opens to everyone. Nothing here knows a tenant. */
const open = [
	...["/healthz", "/readyz", "/openapi.json", "/docs", "/console"],
	// What the pages are made of.
	...["/docs/{file}", "/console/src/{file}", "/console/src/{folder}/{file}"],
];
const id = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
const filled = (path: string) =>
	path.replace("{id}", id).replace("{table}", "events").replace("{n}", "1");

/**
 * An app whose every dependency throws when a route reaches it: what is answered
 * was decided before anything of a tenant was touched.
 */
function guardedApp(principal: Principal | null, touched: string[] = []) {
	const trap = (name: string): never =>
		new Proxy(
			{},
			{
				get: (_, member) => () => {
					touched.push(`${name}.${String(member)}`);
					return Promise.reject(new IngestError("store_unavailable", "touched"));
				},
			},
		) as never;
	const deps = {
		store: trap("store"),
		receipts: trap("receipts"),
		queue: trap("queue"),
		keyStore: {
			authenticate: async () => {
				if (principal) return principal;
				throw new IngestError("unauthenticated", "no");
			},
		},
		clock: { now: () => 0, sleep: () => new Promise<void>(() => {}) },
		log: silentLog,
		limits: {} as never,
		newId: () => id,
		createSha256: () => trap("sha256"),
		canWait: true,
		defaultWaitMs: 0,
		metrics: null,
	} as unknown as AppDeps;
	return createApp(deps);
}

const bodies: Record<string, unknown> = {
	createUpload: { table: "events" },
	completeUpload: { parts: 1 },
	presignParts: { parts: [{ n: 1, size: 1, sha256: "0".repeat(64) }] },
};
const requestOf = (route: (typeof routes)[number], authorization?: string) =>
	new Request(`http://x${filled(route.path)}`, {
		method: route.method,
		headers: {
			...(bodies[route.id] ? { "Content-Type": "application/json" } : {}),
			...(authorization === undefined ? {} : { Authorization: authorization }),
		},
		...(bodies[route.id] ? { body: JSON.stringify(bodies[route.id]) } : {}),
	});

describe.each(routes.map((route) => [`${route.method} ${route.path}`, route] as const))(
	"%s",
	(_, route) => {
		const isOpen = open.includes(route.path);

		test("has a right, unless it is one of those that API.md opens", () => {
			expect(route.right === "open").toBe(isOpen);
			if (route.path.startsWith("/v1/")) expect(route.right).not.toMatch(/open|metrics/);
		});

		test("touches nothing of a tenant for a caller without a key", async () => {
			if (isOpen) return;
			const touched: string[] = [];
			const answer = await guardedApp(null, touched).fetch(requestOf(route));
			expect([answer.status, touched]).toEqual([401, []]);
		});

		test("gives nothing to a key without rights and tables", async () => {
			if (isOpen) return;
			const nobody: Principal = { keyId: "k", tenant: "acme", tables: [], rights: new Set() };
			const touched: string[] = [];
			const answer = await guardedApp(nobody, touched).fetch(requestOf(route, "Bearer x"));
			const { code } = (await answer.json()) as { code: string };
			// What is named is refused unseen; an upload or a load has to be found before its table is known.
			if (route.right === "upload" || route.right === "replay") {
				expect(touched.length).toBe(1);
			} else {
				expect([answer.status, touched]).toEqual([403, []]);
				expect(code).toMatch(/^forbidden_(table|mode)$/);
			}
		});

		test("is found by its own path and no other", () => {
			const found = matchRoute(routes, route.method, filled(route.path));
			expect(found.kind === "found" && found.route.id).toBe(route.id);
			expect(matchRoute(routes, route.method, `${filled(route.path)}/x/y`).kind).toBe("no_path");
		});
	},
);

test("every route is in the OpenAPI document, with its security and a problem", () => {
	const document = openapiDocument(routes) as {
		paths: Record<
			string,
			Record<
				string,
				{
					operationId: string;
					tags: string[];
					description: string;
					security: object[];
					responses: object;
				}
			>
		>;
		components: { schemas: object };
	};
	const ids = routes.map((route) => {
		const operation = document.paths[route.path]![route.method.toLowerCase()]!;
		expect(operation.security.length === 0).toBe(route.right === "open");
		expect(Object.keys(operation.responses)).toContain("default");
		const noun = /^\/v1\/(upload|table)s/.exec(route.path)?.[1];
		const tag = noun ?? (route.path.startsWith("/v1/") ? "load" : "service");
		expect(operation.tags.map((one) => one.toLowerCase().replace(/s$/, ""))).toEqual([tag]);
		expect(operation.description).toMatch(/^Needs: [^.]+\.$/);
		return operation.operationId;
	});
	expect(new Set(ids).size).toBe(routes.length);
	const text = JSON.stringify(document);
	for (const [, name] of text.matchAll(/"\$ref":"#\/components\/schemas\/(\w+)"/g)) {
		expect(Object.keys(document.components.schemas)).toContain(name);
	}
	expect(text).not.toContain("#/$defs/");
});

test("every code of the contract can be met on some route, and every route tells its own", () => {
	const told = new Set(routes.flatMap(problemsOf));
	expect([...told].sort()).toEqual(Object.keys(errorCodes).sort());
	const { paths } = openapiDocument(routes) as {
		paths: Record<string, Record<string, { responses: Record<string, { description: string }> }>>;
	};
	for (const route of routes) {
		const { responses } = paths[route.path]![route.method.toLowerCase()]!;
		for (const code of problemsOf(route)) {
			expect(responses[problemKinds[code].status]!.description).toContain(`${code}: `);
		}
	}
});

test("every answer that is JSON has an example for its status, and the schemas take it", () => {
	const { paths } = openapiDocument(routes) as {
		paths: Record<string, Record<string, { responses: Record<string, Told> }>>;
	};
	interface Told {
		content?: Record<
			string,
			{ schema: object; example?: unknown; examples?: Record<string, { value: unknown }> }
		>;
	}
	for (const route of routes) {
		const { responses } = paths[route.path]![route.method.toLowerCase()]!;
		for (const [status, { content }] of Object.entries(responses)) {
			const problem = content?.["application/problem+json"];
			const answer = content?.["application/json"];
			if (problem !== undefined && status !== "default") {
				for (const [code, { value }] of Object.entries(problem.examples!)) {
					expect(problemSchema.parse(value)).toMatchObject({ code, status: Number(status) });
				}
				expect(Object.keys(problem.examples!)).not.toEqual([]);
			}
			if (answer !== undefined && route.id !== "openapi") {
				expect([route.id, status, answer.example]).toEqual([route.id, status, expect.anything()]);
				expect(route.answers[Number(status)]!.schema!.safeParse(answer.example)).toMatchObject({
					success: true,
				});
			}
		}
	}
});
