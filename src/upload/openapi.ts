/**
 * `GET /openapi.json`: the table of routes as an OpenAPI 3.1 document, made from
 * the very schemas that validate. https://spec.openapis.org/oas/v3.1.0
 */
import * as z from "zod";
import { type ErrorCode, errorCodes, IngestError } from "../errors.ts";
import { answerExamples } from "./answer-examples.ts";
import { jsonAnswer } from "./answers.ts";
import { problemKinds, problemOf } from "./problem-json.ts";
import { type BytesBody, defineRoute, partialBody, type Route } from "./route.ts";
import { problemsOf } from "./route-problems.ts";
import { noQuery, problemSchema } from "./schemas.ts";

type Json = Record<string, unknown>;

/** The route that serves the document of `described` and of itself. */
export function openapiRoute(described: readonly Route[]): Route {
	let text: Json | undefined;
	const route = defineRoute({
		method: "GET",
		path: "/openapi.json",
		id: "openapi",
		summary: "This document",
		right: "open",
		query: noQuery,
		body: null,
		answers: {
			200: { description: "OpenAPI 3.1", schema: z.looseObject({ openapi: z.string() }) },
		},
		async handler() {
			text ??= openapiDocument([...described, route]);
			return jsonAnswer(text);
		},
	});
	return route;
}

export function openapiDocument(routes: readonly Route[]): Json {
	const components: Json = {};
	const paths: Record<string, Json> = {};
	for (const route of routes) {
		const path = paths[route.path] ?? {};
		path[route.method.toLowerCase()] = operationOf(route, components);
		paths[route.path] = path;
	}
	return {
		openapi: "3.1.0",
		info: {
			title: "duckdock",
			version: "1",
			description: "Arrow over plain HTTPS into DuckDB, exactly once.",
			license: { name: "Apache-2.0", identifier: "Apache-2.0" },
		},
		paths,
		components: {
			schemas: components,
			securitySchemes: {
				key: { type: "http", scheme: "bearer", bearerFormat: "dk_<keyid>_<secret>" },
			},
		},
	};
}

const pathSchemas: Record<string, Json> = {
	id: { type: "string", pattern: "^[0-7][0-9A-HJKMNP-TV-Z]{25}$" },
	n: { type: "integer", minimum: 1, maximum: 10_000 },
};

const rightWords = {
	open: "no key",
	metrics: "right metrics, or a peer on the service's machine",
	load: "the rights of the load's mode, and its table",
	upload: "the rights of the upload's mode, and its table",
	receipt: "right read, and the load's table",
	replay: "the rights of the load's mode, and its table",
	table: "right read, and the table",
	read: "right read",
} as const satisfies Record<Route["right"], string>;

/** What readers find it under. */
function tagOf({ path }: Route): string {
	const [, version, noun] = path.split("/");
	if (version !== "v1") return "Service";
	return noun === "uploads" ? "Uploads" : noun === "tables" ? "Tables" : "Loads";
}

function operationOf(route: Route, components: Json): Json {
	const parameters: Json[] = [
		...[...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
			name,
			in: "path",
			required: true,
			schema: pathSchemas[name!] ?? { type: "string", minLength: 1 },
		})),
		...queryParameters(route, components),
		...Object.entries(route.headers ?? {}).map(([name, description]) => ({
			name,
			in: "header",
			required: false,
			description,
			schema: { type: "string" },
		})),
	];
	return {
		operationId: route.id,
		tags: [tagOf(route)],
		summary: route.summary,
		description: `Needs: ${rightWords[route.right]}.`,
		security:
			route.right === "open" ? [] : route.right === "metrics" ? [{ key: [] }, {}] : [{ key: [] }],
		...(parameters.length === 0 ? {} : { parameters }),
		...(route.body === null ? {} : { requestBody: requestBodyOf(route.body, components) }),
		responses: responsesOf(route, components),
	};
}

function queryParameters(route: Route, components: Json): Json[] {
	const schema = jsonSchemaOf(route.query, components) as {
		properties?: Record<string, Json>;
		required?: string[];
	};
	return Object.entries(schema.properties ?? {}).map(([name, { description, ...property }]) => ({
		name,
		in: "query",
		required: schema.required?.includes(name) ?? false,
		...(description === undefined ? {} : { description }),
		schema: property,
	}));
}

function requestBodyOf(body: z.ZodType | BytesBody, components: Json): Json {
	if (typeof body !== "string") {
		const content = { "application/json": { schema: jsonSchemaOf(body, components) } };
		return { required: true, content };
	}
	const binary = { schema: { type: "string", format: "binary" } };
	if (body === partialBody) return { content: { "application/partial-upload": binary } };
	return {
		required: true,
		content: {
			"application/vnd.apache.arrow.stream": binary,
			"application/vnd.apache.arrow.file": binary,
			"application/octet-stream": binary,
		},
	};
}

function responsesOf(route: Route, components: Json): Json {
	const responses: Json = {};
	for (const [status, answer] of Object.entries(route.answers)) {
		const type = answer.contentType ?? "application/json";
		responses[status] = {
			description: answer.description,
			...(answer.headers === undefined
				? {}
				: {
						headers: Object.fromEntries(
							Object.entries(answer.headers).map(([name, description]) => [
								name,
								{ description, schema: { type: "string" } },
							]),
						),
					}),
			...(answer.schema === null
				? {}
				: { content: { [type]: withExample(jsonSchemaOf(answer.schema, components, "output")) } }),
		};
	}
	const schema = jsonSchemaOf(problemSchema, components, "output");
	for (const [status, codes] of problemsByStatus(route)) {
		const examples = Object.fromEntries(codes.map((code) => [code, { value: exampleOf(code) }]));
		responses[status] = {
			description: codes.map(describeCode).join("; "),
			content: { "application/problem+json": { schema, examples } },
		};
	}
	responses.default = {
		description: "A problem, with its code and whether to try again",
		content: { "application/problem+json": { schema } },
	};
	return responses;
}

/** A schema that the components hold has an example by its name. */
function withExample(schema: Json): Json {
	const name = typeof schema.$ref === "string" ? schema.$ref.split("/").at(-1)! : "";
	return name in answerExamples ? { schema, example: answerExamples[name] } : { schema };
}

const exampleOf = (code: ErrorCode) => problemOf(new IngestError(code, errorCodes[code]));

function problemsByStatus(route: Route): Map<number, ErrorCode[]> {
	const found = new Map<number, ErrorCode[]>();
	for (const code of problemsOf(route)) {
		const { status } = problemKinds[code];
		found.set(status, [...(found.get(status) ?? []), code]);
	}
	return new Map([...found].sort(([a], [b]) => a - b));
}

const describeCode = (code: ErrorCode) => `${code}: ${errorCodes[code]}`;

/** Schemas with an id go to the components and are referred to. */
function jsonSchemaOf(schema: z.ZodType, components: Json, io: "input" | "output" = "input"): Json {
	const made = z.toJSONSchema(schema, {
		io,
		target: "draft-2020-12",
		unrepresentable: "any",
		reused: "inline",
	}) as Json & { $defs?: Json };
	const { $schema: _, $defs, id, ...rest } = made;
	for (const [name, definition] of Object.entries($defs ?? {})) {
		components[name] ??= pointToComponents(withoutId(definition as Json));
	}
	const pointed = pointToComponents(rest) as Json;
	if (typeof id !== "string") return pointed;
	components[id] ??= pointed;
	return { $ref: `#/components/schemas/${id}` };
}

function withoutId({ id: _, ...rest }: Json): Json {
	return rest;
}

function pointToComponents(value: unknown): unknown {
	if (Array.isArray(value)) return value.map(pointToComponents);
	if (typeof value !== "object" || value === null) return value;
	return Object.fromEntries(
		Object.entries(value).map(([name, member]) =>
			name === "$ref" && typeof member === "string"
				? [name, member.replace("#/$defs/", "#/components/schemas/")]
				: [name, pointToComponents(member)],
		),
	);
}
