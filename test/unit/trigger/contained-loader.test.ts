import { expect, test } from "vitest";
import { silentLog } from "../../../src/log.ts";
import {
	type Container,
	createContainedLoader,
	instanceOf,
} from "../../../src/trigger/contained-loader.ts";
import { createFakeClock } from "../fake-clock.ts";

/** A container that is ready `readyAfterMs` after its start; what it is asked and told is kept. */
function setUp(readyAfterMs = 1_000) {
	const clock = createFakeClock();
	const told = { starts: 0, signals: [] as number[], paths: [] as string[] };
	let running = false;
	let startedAt = 0;
	let end = Promise.withResolvers<void>();
	const container: Container = {
		get running() {
			return running;
		},
		start(options) {
			expect(options.entrypoint).toEqual(["node", "functions/replay.node.ts"]);
			expect(options.env).toEqual({ LOADER_SECRET: "s" });
			told.starts++;
			running = true;
			startedAt = clock.now();
			end = Promise.withResolvers();
		},
		monitor: () => end.promise,
		signal: (number) => void told.signals.push(number),
		getTcpPort: (port) => ({
			async fetch(request) {
				expect(port).toBe(8_788);
				if (!running || clock.now() - startedAt < readyAfterMs) throw new Error("refused");
				const { pathname } = new URL(request.url);
				if (pathname !== "/healthz") told.paths.push(`${request.method} ${pathname}`);
				return new Response(await request.text());
			},
		}),
	};
	const loader = createContainedLoader({
		container,
		env: { LOADER_SECRET: "s" },
		clock,
		log: silentLog,
	});
	const ask = () =>
		loader.fetch(new Request("https://loader/v1/replay", { method: "POST", body: "job" }));
	const die = () => {
		running = false;
		end.reject(new Error("exit 1"));
	};
	return { clock, told, loader, ask, die };
}

test("requests that come together start it once and go in when it is ready", async () => {
	const { clock, told, ask } = setUp();
	const answers = Promise.all([ask(), ask(), ask()]);
	await clock.pass(500);
	expect(told).toMatchObject({ starts: 1, paths: [] });
	await clock.pass(1_000);
	for (const answer of await answers) expect(await answer.text()).toBe("job");
	expect(told.paths).toEqual(Array(3).fill("POST /v1/replay"));
});

test("one that doesn't get ready in two minutes is 503 with a time to wait", async () => {
	const { clock, ask } = setUp(Number.POSITIVE_INFINITY);
	const asked = ask();
	await clock.pass(121_000);
	const answer = await asked;
	expect(answer.status).toBe(503);
	expect(Number(answer.headers.get("retry-after"))).toBeGreaterThan(0);
});

test("one that died is 503 for who was in it, and the next request starts it again", async () => {
	const { clock, told, ask, die } = setUp();
	const first = ask();
	await clock.pass(2_000);
	await first;
	die();
	const second = ask();
	await clock.pass(2_000);
	expect((await second).status).toBe(200);
	expect(told.starts).toBe(2);
});

test("it drains after ten minutes without a request, and not before", async () => {
	const { clock, told, loader, ask } = setUp();
	const asked = ask();
	await clock.pass(2_000);
	await asked;
	await clock.pass(loader.idleAt() - clock.now() - 1);
	expect(loader.sleepIfIdle()).toBe(false);
	const again = ask();
	await clock.pass(1);
	await again;
	expect(loader.sleepIfIdle()).toBe(false);
	await clock.pass(600_000);
	expect(loader.sleepIfIdle()).toBe(true);
	expect(told.signals).toEqual([15]);
});

test("a tenant is always with the same instance, and tenants are spread", () => {
	const tenants = Array.from({ length: 1_000 }, (_, at) => `tenant-${at}`);
	const counts = [0, 0, 0, 0];
	for (const tenant of tenants) {
		const instance = instanceOf(tenant, 4);
		expect(instanceOf(tenant, 4)).toBe(instance);
		counts[instance]!++;
	}
	for (const count of counts) expect(count).toBeGreaterThan(150);
	expect(instanceOf("acme", 1)).toBe(0);
});
