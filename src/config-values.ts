/** Values of the environment, each from its text: flags, counts, sizes, spans, stores, addresses. */
import * as z from "zod";
import { parseBytes, parseDurationMs } from "./units.ts";

export const flag = z
	.enum(["0", "1", "on", "off", "true", "false", "yes", "no"], "is one of 1, 0, on, off")
	.transform((word) => ["1", "on", "true", "yes"].includes(word));

export const count = (min: number, max: number) =>
	z
		.string()
		.regex(/^\d{1,15}$/, `is a whole number from ${min} to ${max}`)
		.transform(Number)
		.refine((n) => n >= min && n <= max, `is a whole number from ${min} to ${max}`);

export const bytes = (min = 1) =>
	z.string().transform((text, context) => {
		const value = parseBytes(text);
		if (value !== null && value >= min) return value;
		context.addIssue(`is a size of at least ${min} bytes, such as 8MiB or 8388608`);
		return z.NEVER;
	});

export const duration = z.string().transform((text, context) => {
	const value = parseDurationMs(text);
	if (value !== null && value > 0) return value;
	context.addIssue("is a span of time with its unit, such as 24h, 90d or 500ms");
	return z.NEVER;
});

export const store = z.string().transform((text, context): StoreParts => {
	const file = /^file:(?:\/\/(?=\/))?(.+)$/s.exec(text);
	if (file) return { kind: "file", path: file[1]! };
	const s3 = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/(.*))?$/s.exec(text);
	if (s3) return { kind: "s3", bucket: s3[1]!, prefix: (s3[2] ?? "").replace(/\/+$/, "") };
	context.addIssue("is file:PATH or s3://BUCKET/PREFIX");
	return z.NEVER;
});
export type StoreParts =
	| { kind: "file"; path: string }
	| { kind: "s3"; bucket: string; prefix: string };

export const listen = z.string().transform((text, context) => {
	const match = /^(?:\[([0-9a-f:.]+)\]|([^\s:[\]]*)):(\d{1,5})$/i.exec(text);
	const port = Number(match?.[3]);
	if (match && port <= 65_535) return { host: match[1] ?? (match[2] || "0.0.0.0"), port };
	context.addIssue("is HOST:PORT, such as 127.0.0.1:8787 or [::1]:8787");
	return z.NEVER;
});

export const origins = z.string().transform((text, context) => {
	const list = text.split(",").map((origin) => origin.trim());
	const bad = list.find((origin) => origin !== "*" && !isOrigin(origin));
	if (bad === undefined) return list;
	context.addIssue(
		`is origins such as https://app.example.com, or *; this is none: ${JSON.stringify(bad)}`,
	);
	return z.NEVER;
});

function isOrigin(text: string): boolean {
	try {
		const url = new URL(text);
		return (url.protocol === "https:" || url.protocol === "http:") && url.origin === text;
	} catch {
		return false;
	}
}

/** Where a bucket's name may be put behind a slash. */
export function isEndpoint(text: string): boolean {
	try {
		const { protocol, search, hash, username } = new URL(text);
		return /^https?:$/.test(protocol) && `${search}${hash}${username}` === "";
	} catch {
		return false;
	}
}
