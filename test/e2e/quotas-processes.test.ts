/**
 * Limits of tenants where two services run over one store and one target: each is a
 * process with a loader of its own, and neither knows of the other but by the store.
 *
 * Both look at the counts at the same time and then let through what is left, each
 * for itself: so twice what is left is the most (and one load more each, which ends
 * above it). Whoever looks afterwards, which is what a third process does at once,
 * sees the whole.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import process from "node:process";
import { afterEach, expect, test } from "vitest";
import { createFsStore } from "../../src/stage/stores/fs-store.ts";
import { inProgress, readUsage, type Usage } from "../../src/tenant/usage.ts";
import { arrowNumbers } from "../contract/arrow-bytes.ts";
import { createWorld, type Json, query, root, type World } from "./world.ts";

const open: World[] = [];
let holder: ChildProcess | null = null;
afterEach(async () => {
	holder?.kill("SIGKILL");
	holder = null;
	for (const world of open.splice(0).reverse()) await world.end();
});

/** One more process over the first one's store and target. */
async function service(settings: Record<string, string>): Promise<World> {
	const [first] = open;
	const shared: Record<string, string> = first
		? { DUCKDOCK_STORE: first.env.DUCKDOCK_STORE!, DUCKDOCK_TARGET: first.env.DUCKDOCK_TARGET! }
		: {};
	const world = await createWorld({ DUCKDOCK_FSYNC: "off", ...settings, ...shared });
	open.push(world);
	await world.start();
	while (!(await fetch(`${world.url}/readyz`)).ok) await pause(50);
	// Whichever process is asked: the tenant is the same, and so may the key be.
	world.key = open[0]!.key;
	return world;
}

const pause = (ms: number) => new Promise((done) => setTimeout(done, ms));

async function ask(world: World, path: string, init: RequestInit = {}) {
	const answer = await fetch(world.url + path, {
		...init,
		headers: { Authorization: `Bearer ${world.key}`, ...init.headers },
	});
	return { status: answer.status, json: (await answer.json()) as Json };
}

const rowsEach = 100;
const load = (world: World, headers: Record<string, string> = {}) =>
	ask(world, "/v1/ingest/t", { method: "POST", body: arrowNumbers(rowsEach), headers });

/** Sends one load after the other to both until each has refused; how many each let through. */
async function fillBoth(worlds: World[]): Promise<number[]> {
	return Promise.all(
		worlds.map(async (world) => {
			for (let taken = 0; ; taken++) {
				const { status, json } = await load(world);
				if (status === 429) {
					expect(json.code).toBe("quota_exceeded");
					return taken;
				}
				expect(status).toBe(200);
			}
		}),
	);
}

const count = async () =>
	((await query(open[0]!.database, "SELECT count(*)::INT FROM t"))[0] as number[])[0];

/** As any process reads it. */
async function usage(): Promise<Usage> {
	const store = await createFsStore({ folder: join(open[0]!.folder, "objects"), fsync: false });
	return readUsage(store, "acme", Date.now());
}

test.each([
	["rows", { DUCKDOCK_QUOTA_ROWS_PER_DAY: String(4 * rowsEach) }],
	["bytes", { DUCKDOCK_QUOTA_BYTES_PER_DAY: String(4 * arrowNumbers(rowsEach).length) }],
])(
	"%s of a day: two processes take twice what is left and no more, a third sees the sum",
	async (_, settings) => {
		const worlds = [await service(settings), await service(settings)];
		const taken = await fillBoth(worlds);
		// Each has taken all that it knew to be left: the other's loads are not in its count.
		for (const one of taken) expect(one).toBeLessThanOrEqual(4);
		const sum = taken[0]! + taken[1]!;
		expect(sum).toBeGreaterThanOrEqual(4);
		expect(await count()).toBe(sum * rowsEach);
		await expect.poll(async () => (await usage()).rows, { timeout: 15_000 }).toBe(sum * rowsEach);
		expect((await load(await service(settings))).status).toBe(429);
	},
	60_000,
);

test("open uploads: twice the limit and no more, and a third process opens none", async () => {
	const settings = { DUCKDOCK_QUOTA_OPEN_UPLOADS: "3" };
	const worlds = [await service(settings), await service(settings)];
	const upload = (world: World) =>
		ask(world, "/v1/uploads", {
			method: "POST",
			body: '{"table":"t"}',
			headers: { "Content-Type": "application/json" },
		});
	// Both have looked before either opens much.
	const answers = await Promise.all(
		worlds.flatMap((world) => Array.from({ length: 8 }, () => upload(world))),
	);
	const opened = answers.filter(({ status }) => status === 201).length;
	expect(opened).toBeGreaterThanOrEqual(3);
	expect(opened).toBeLessThanOrEqual(6);
	const third = await service(settings);
	expect(await upload(third)).toMatchObject({ status: 429, json: { code: "quota_exceeded" } });
});

test("loads in parallel: twice the limit and no more while none can end, and a third process takes none", async () => {
	const settings = { DUCKDOCK_QUOTA_PARALLEL_LOADS: "2" };
	const worlds = [await service(settings), await service(settings)];
	expect((await load(worlds[0]!)).status).toBe(200);
	// Another program holds the database: what is let through stays open.
	holder = spawn(process.execPath, [join(root, "test/e2e/hold-database.ts"), worlds[0]!.database], {
		stdio: ["ignore", "pipe", "inherit"],
	});
	await new Promise((held) => holder!.stdout!.once("data", held));
	const async = { Prefer: "respond-async" };
	const answers = await Promise.all(
		worlds.flatMap((world) => Array.from({ length: 6 }, () => load(world, async))),
	);
	const accepted = answers.filter(({ status }) => status === 202);
	expect(answers.filter(({ status }) => status === 429)).toHaveLength(12 - accepted.length);
	expect(accepted.length).toBeGreaterThanOrEqual(2);
	expect(accepted.length).toBeLessThanOrEqual(4);
	// Both loaders tell the store of what they have open, though they can't open the database.
	await expect
		.poll(async () => inProgress(await usage(), Date.now()).loads, { timeout: 15_000 })
		.toBe(accepted.length);
	const third = await service(settings);
	expect((await load(third, async)).status).toBe(429);
	holder.kill("SIGKILL");
	for (const { json } of accepted) {
		await expect
			.poll(async () => (await ask(third, `/v1/loads/${json.load_id}`)).json.status, {
				timeout: 60_000,
				interval: 250,
			})
			.toBe("committed");
	}
});
