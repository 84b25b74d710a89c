/** `npm run dev:edge` as it stands: through workerd in parts, the queue, a Node loader on R2's S3 API, the receipt. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterAll, beforeAll, expect, test } from "vitest";
import { superstorePath } from "../e2e/superstore.ts";
import { cliJson, query, root } from "../e2e/world.ts";

let child: ChildProcess;
let folder: string;
let env: Record<string, string>;
let output = "";

beforeAll(async () => {
	folder = mkdtempSync(join(tmpdir(), "duckdock-dev-edge-"));
	child = spawn(process.execPath, [join(root, "functions/dev-edge.node.ts")], {
		cwd: root,
		env: { ...process.env, CI: "1", DUCKDOCK_TARGET: join(folder, "{tenant}.duckdb") },
		stdio: ["ignore", "pipe", "pipe"],
	});
	for (const stream of [child.stdout!, child.stderr!]) {
		stream.on("data", (text) => {
			output += text;
		});
	}
	while (!output.includes("Ctrl-C ends it all")) {
		if (child.exitCode !== null) throw new Error(output);
		await new Promise((resolve) => setTimeout(resolve, 100));
	}
	const of = (name: string) => new RegExp(`export ${name}=(\\S+)`).exec(output)![1]!;
	env = {
		DUCKDOCK_URL: of("DUCKDOCK_URL"),
		DUCKDOCK_KEY: of("DUCKDOCK_KEY"),
		XDG_STATE_HOME: join(folder, "state"),
	};
});
afterAll(async () => {
	if (child.exitCode === null) {
		const closed = new Promise((resolve) => child.once("close", resolve));
		child.kill("SIGTERM");
		await closed;
	}
	rmSync(folder, { recursive: true, force: true });
});

test("one request is one load, and its repeat the same receipt", async () => {
	const ingest = () =>
		fetch(`${env.DUCKDOCK_URL}/v1/ingest/sales`, {
			method: "POST",
			headers: {
				Authorization: `Bearer ${env.DUCKDOCK_KEY}`,
				"Idempotency-Key": "one",
				Prefer: "wait=90",
			},
			body: readFileSync(superstorePath),
		});
	const first = await ingest();
	const receipt = await first.json();
	expect(receipt).toMatchObject({ status: "committed", rows_inserted: 9_994 });
	const again = await ingest();
	expect(await again.json()).toEqual(receipt);
	expect(again.headers.get("idempotency-replayed")).toBe("true");
});

test("the command line pushes in parts", async () => {
	const args = ["push", superstorePath, "--table", "raw.sales", "--part-size", "300000"];
	const pushed = await cliJson(args, { env });
	expect(pushed).toMatchObject({ code: 0, json: { status: "committed", rows_inserted: 9_994 } });
	expect(pushed.json.parts).toBeGreaterThan(3);
	const rows = await query(
		join(folder, "acme.duckdb"),
		"SELECT (SELECT count(*) FROM sales)::INT, (SELECT count(*) FROM raw.sales)::INT",
	);
	expect(rows).toEqual([[9_994, 9_994]]);
});
