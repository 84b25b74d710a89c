/**
 * Query strings and JSON bodies against their schemas. Everything that is wrong
 * is told at once, in `detail` for people and in `errors` for programs.
 */
import type { z } from "zod";
import type { Clock } from "../clock.ts";
import { collectBytes } from "../collect-bytes.ts";
import { IngestError } from "../errors.ts";
import { maxJsonBodyBytes } from "../limits.ts";
import { guardBody } from "./guard-body.ts";
import { assertJsonType } from "./read-headers.ts";

/** A JSON body is small: who takes longer between two pieces of it is not working on it. */
const idleJsonBodyMs = 15_000;

/** `bad_request` for what is unknown, given twice or not valid. */
export function readQuery<S extends z.ZodType>(schema: S, search: URLSearchParams): z.output<S> {
	const given: Record<string, string> = Object.create(null);
	const twice: string[] = [];
	for (const [name, value] of search) {
		if (name in given) twice.push(name);
		given[name] = value;
	}
	return check(schema, { ...given }, "query parameter", [...new Set(twice)]);
}

/** `bad_request`, `unsupported_media_type`, `too_large`, `truncated_stream`. An empty body is an empty object. */
export async function readJsonBody<S extends z.ZodType>(
	schema: S,
	request: Request,
	clock: Clock,
): Promise<z.output<S>> {
	assertJsonType(request.headers);
	const coding = request.headers.get("content-encoding");
	if (coding !== null && coding.trim().toLowerCase() !== "identity") {
		throw new IngestError("unsupported_media_type", "a JSON body is sent without content coding");
	}
	const bytes = await readBody(request, clock);
	let value: unknown;
	try {
		const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
		value = text.trim() === "" ? {} : JSON.parse(text);
	} catch (cause) {
		throw new IngestError("bad_request", "the body is not JSON in UTF-8", { cause });
	}
	return check(schema, value, "field", []);
}

async function readBody(request: Request, clock: Clock): Promise<Uint8Array> {
	const { stream } = guardBody(request, {
		clock,
		what: "the JSON body",
		maxBytes: maxJsonBodyBytes,
		idleMs: idleJsonBodyMs,
	});
	return await collectBytes(stream, (size) => {
		if (size > maxJsonBodyBytes) throw tooLarge(size);
	});
}

const tooLarge = (size: number) =>
	new IngestError(
		"too_large",
		`a JSON body has at most ${maxJsonBodyBytes} bytes, this one has ${size} or more`,
		{ extra: { limit_bytes: maxJsonBodyBytes } },
	);

function check<S extends z.ZodType>(
	schema: S,
	value: unknown,
	what: string,
	twice: readonly string[],
): z.output<S> {
	const parsed = schema.safeParse(value);
	if (parsed.success && twice.length === 0) return parsed.data;
	const errors = [
		...twice.map((name) => ({ name, detail: "given more than once" })),
		...(parsed.error?.issues ?? []).flatMap((issue) => {
			if (issue.code !== "unrecognized_keys") {
				return [{ name: issue.path.join("."), detail: issue.message }];
			}
			return issue.keys.map((key) => ({
				name: [...issue.path, key].join("."),
				detail: "is not known here",
			}));
		}),
	].map(({ name, detail }) => ({ name: name.slice(0, 200), detail: detail.slice(0, 500) }));
	const shown = errors.slice(0, 20);
	throw new IngestError(
		"bad_request",
		shown
			.map(({ name, detail }) => (name === "" ? detail : `${what} ${name}: ${detail}`))
			.join("; "),
		{ extra: { errors: shown } },
	);
}
