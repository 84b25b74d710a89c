/**
 * The container's side of the edge with a loader in it: what Cloudflare's container
 * does, a process of this machine does, started with the same command and environment,
 * reached at the same port's stand-in, and told to drain by the same signal.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterEach, beforeEach, expect, test } from "vitest";
import { systemClock as clock } from "../../src/clock.ts";
import { defaultLimits } from "../../src/limits.ts";
import { silentLog as log } from "../../src/log.ts";
import { createStoreReceiptBook } from "../../src/receipt/store-receipt-book.ts";
import { type CompleteDeps, completeStaged } from "../../src/stage/complete-upload.ts";
import { createIdMaker } from "../../src/stage/new-id.ts";
import { stageBody } from "../../src/stage/stage-body.ts";
import { createFsStore } from "../../src/stage/stores/fs-store.ts";
import { createLoaderCaller } from "../../src/trigger/call-loader.ts";
import {
	type ContainedLoader,
	type Container,
	createContainedLoader,
} from "../../src/trigger/contained-loader.ts";
import { query, root } from "../e2e/world.ts";
import { uploadOf } from "../unit/stage/stage-world.ts";
import { arrowNumbers } from "./arrow-bytes.ts";

const secret = "a secret for tests, long enough for all";
let folder: string;
let child: ChildProcess | null;
let starts: number;
let port: number;
let contained: ContainedLoader;

beforeEach(async () => {
	folder = mkdtempSync(join(tmpdir(), "duckdock-contained-"));
	child = null;
	starts = 0;
	port = await freePort();
	const container: Container = {
		get running() {
			return child !== null && child.exitCode === null && child.signalCode === null;
		},
		start({ entrypoint, env }) {
			starts++;
			child = spawn(process.execPath, entrypoint.slice(1), {
				cwd: root,
				env: { PATH: process.env.PATH, ...env },
				stdio: "ignore",
			});
		},
		monitor: () => new Promise((resolve) => child!.once("exit", () => resolve())),
		signal: (number) => void child!.kill(number),
		getTcpPort: () => ({
			fetch: (request) =>
				fetch(
					new Request(request.url.replace("http://loader", `http://127.0.0.1:${port}`), request),
				),
		}),
	};
	contained = createContainedLoader({
		container,
		env: {
			LOADER_SECRET: secret,
			LOADER_LISTEN: `127.0.0.1:${port}`,
			DUCKDOCK_STORE: `file:${folder}/objects`,
			DUCKDOCK_TARGET: `${folder}/db/{tenant}.duckdb`,
		},
		clock,
		log,
	});
});
afterEach(async () => {
	child?.kill("SIGKILL");
	rmSync(folder, { recursive: true, force: true });
});

async function freePort(): Promise<number> {
	const server = createServer();
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	const { port: free } = server.address() as AddressInfo;
	await new Promise((resolve) => server.close(resolve));
	return free;
}

/** A staged load that nobody was told of; its id. `ageMs`: since it was completed. */
async function stage(rows: number, ageMs = 0): Promise<string> {
	const store = await createFsStore({ folder: `${folder}/objects`, fsync: false });
	const deps: CompleteDeps = {
		store,
		clock: { ...clock, now: () => clock.now() - ageMs },
		log,
		limits: defaultLimits,
		newId: createIdMaker(clock),
		receipts: createStoreReceiptBook({ store, clock }),
		queue: { send: async () => {} },
		createSha256() {
			const hash = createHash("sha256");
			return { update: (bytes) => void hash.update(bytes), digestHex: () => hash.digest("hex") };
		},
	};
	const body = new Response(arrowNumbers(rows)).body!;
	const staged = await stageBody(deps, uploadOf({ mode: "create_append" }), body);
	await completeStaged(deps, staged);
	return staged.upload.upload_id;
}

const call = (upload_id: string) =>
	createLoaderCaller({
		url: "https://loader",
		secret,
		clock,
		fetch: (request) => contained.fetch(request),
	}).call({ tenant: "acme", upload_id }, 1);

test("the first job starts it and is loaded; it drains, and the next job starts it again", async () => {
	expect(await call(await stage(5))).toEqual({ done: true, delayMs: 0, why: "done" });
	const ended = new Promise((resolve) => child!.once("exit", resolve));
	child!.kill("SIGTERM");
	expect(await ended).toBe(0);
	expect(await call(await stage(7))).toMatchObject({ done: true });
	expect(starts).toBe(2);
	const { table } = uploadOf();
	const rows = `SELECT count(*)::INT FROM "${table.schema}"."${table.table}"`;
	expect(await query(join(folder, "db/acme.duckdb"), rows)).toEqual([[12]]);
});

test("one that is woken loads what was lost on the way", async () => {
	await stage(5, 120_000);
	expect(await contained.wake()).toBe(true);
	const { table } = uploadOf();
	await expect
		.poll(
			() =>
				query(
					join(folder, "db/acme.duckdb"),
					`SELECT count(*)::INT FROM "${table.schema}"."${table.table}"`,
				).catch(() => null),
			{ timeout: 60_000, interval: 1_000 },
		)
		.toEqual([[5]]);
});

test("a job without a good signature is refused by the loader itself", async () => {
	const answer = await contained.fetch(
		new Request("https://loader/v1/replay", { method: "POST", body: "{}" }),
	);
	expect(answer.status).toBe(401);
});
