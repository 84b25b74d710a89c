import { expect, test } from "vitest";
import type { Clock } from "../../../src/clock.ts";
import { createMemoryStore } from "../../../src/stage/stores/memory-store.ts";
import { createBindingRate } from "../../../src/tenant/binding-rate.ts";
import { createQuotas, type QuotaLimits } from "../../../src/tenant/quotas.ts";
import { createRequestRate, rateLimitHeaders } from "../../../src/tenant/request-rate.ts";
import { changeUsage, dayOf, type Usage } from "../../../src/tenant/usage.ts";

const none: QuotaLimits = {
	bytesPerDay: null,
	rowsPerDay: null,
	openUploads: null,
	parallelLoads: null,
};

function setUp(limits: Partial<QuotaLimits>) {
	let now = Date.UTC(2026, 10, 30, 12);
	const clock: Clock = { now: () => now, sleep: () => Promise.resolve() };
	const store = createMemoryStore({ now: () => now });
	const quotas = () => createQuotas({ store, clock, limits: { ...none, ...limits } });
	/** As one loader would write it, beside what others wrote. */
	const publish = (
		usage: Partial<Pick<Usage, "bytes" | "rows">> & { loads?: number },
		loader = "one",
	) => {
		const { loads = 0, ...sums } = usage;
		const at = new Date(now).toISOString();
		return changeUsage(store, "acme", now, async ({ loaders }) => ({
			day: dayOf(now),
			bytes: 0,
			rows: 0,
			...sums,
			counted_at: at,
			loaders: { ...loaders, [loader]: { loads, bytes: loads * 10, at } },
			written_at: at,
		}));
	};
	return { quotas, publish, store, pass: (ms: number) => (now += ms) };
}

const outcome = (work: Promise<unknown>) =>
	work.then(
		() => "fine",
		(error) => `${error.code} ${error.retryAfterSeconds}`,
	);

test("without limits everything passes and nothing counted is a limit of 0", async () => {
	const { quotas } = setUp({});
	expect(await outcome(quotas().assertRoom("acme", "load"))).toBe("fine");
});

test("bytes and rows of today count until midnight in UTC", async () => {
	const { quotas, publish, pass } = setUp({ bytesPerDay: 100, rowsPerDay: 10 });
	await publish({ bytes: 99, rows: 9 });
	const one = quotas();
	expect(await outcome(one.assertRoom("acme", "bytes"))).toBe("fine");
	one.addBytes("acme", 1);
	expect(await outcome(one.assertRoom("acme", "bytes"))).toBe("quota_exceeded 43200");
	expect(await outcome(one.assertRoom("other", "bytes"))).toBe("fine");
	await publish({ rows: 10 });
	expect(await outcome(quotas().assertRoom("acme", "load"))).toBe("quota_exceeded 43200");
	pass(12 * 3_600_000);
	expect(await outcome(quotas().assertRoom("acme", "load"))).toBe("fine");
});

test("loads in parallel: what was let through counts until it ends or the loader tells", async () => {
	const { quotas, publish, pass } = setUp({ parallelLoads: 2 });
	await publish({ loads: 1 });
	pass(1_000);
	const one = quotas();
	const ended = await one.assertRoom("acme", "load");
	expect(await outcome(one.assertRoom("acme", "load"))).toBe("quota_exceeded 5");
	ended();
	expect(await outcome(one.assertRoom("acme", "load"))).toBe("fine");
	pass(30_000);
	await publish({ loads: 2 });
	expect(await outcome(one.assertRoom("acme", "load"))).toBe("quota_exceeded 5");
	pass(2_000);
	await publish({ loads: 0 });
	pass(30_000);
	expect(await outcome(one.assertRoom("acme", "load"))).toBe("fine");
});

test("a load that ends after the loader told of it makes no room twice", async () => {
	const { quotas, publish, pass } = setUp({ parallelLoads: 1 });
	const one = quotas();
	const ended = await one.assertRoom("acme", "load");
	pass(5_000);
	await publish({ loads: 1 });
	pass(1_000);
	expect(await outcome(one.assertRoom("acme", "load"))).toBe("quota_exceeded 5");
	ended();
	await publish({ loads: 0 });
	pass(1_000);
	expect(await outcome(one.assertRoom("acme", "load"))).toBe("fine");
	expect(await outcome(one.assertRoom("acme", "load"))).toBe("quota_exceeded 5");
});

test("who is refused is looked at again after a second, not after the cache's time", async () => {
	const { quotas, publish, pass } = setUp({ parallelLoads: 1 });
	await publish({ loads: 1 });
	const one = quotas();
	expect(await outcome(one.assertRoom("acme", "load"))).toBe("quota_exceeded 5");
	await publish({ loads: 0 });
	expect(await outcome(one.assertRoom("acme", "load"))).toBe("quota_exceeded 5");
	pass(1_000);
	expect(await outcome(one.assertRoom("acme", "load"))).toBe("fine");
});

test("open uploads are listed; closing one makes room, once", async () => {
	const { quotas, store } = setUp({ openUploads: 4 });
	const ids = [
		"01ARZ3NDEKTSV4RRFFQ69G5FAV",
		"01ARZ3NDEKTSV4RRFFQ69G5FAW",
		"01ARZ3NDEKTSV4RRFFQ69G5FAX",
	];
	for (const id of ids) {
		for (const name of ["parts/00001", "parts/00002", "upload.json"]) {
			await store.put(`uploads/acme/${id}/${name}`, new Uint8Array(1));
		}
	}
	await store.put(`uploads/acme/${ids[1]}/manifest.json`, new Uint8Array(1));
	await store.put(`uploads/acme2/${ids[1]}/upload.json`, new Uint8Array(1));
	const one = quotas();
	await one.assertRoom("acme", "upload");
	await one.assertRoom("acme", "upload");
	expect(await outcome(one.assertRoom("acme", "upload"))).toBe("quota_exceeded 5");
	one.closeUpload("acme", "a");
	one.closeUpload("acme", "a");
	expect(await outcome(one.assertRoom("acme", "upload"))).toBe("fine");
	expect(await outcome(one.assertRoom("acme", "upload"))).toBe("quota_exceeded 5");
	expect(await outcome(one.assertRoom("acme", "load"))).toBe("fine");
});

test("two processes overshoot by what both let through within the cache's time, and no more", async () => {
	const { quotas, publish, pass } = setUp({ parallelLoads: 3 });
	const processes = [quotas(), quotas()];
	let passed = 0;
	const round = async () => {
		for (const process of processes) {
			for (let at = 0; at < 5; at++) {
				if ((await outcome(process.assertRoom("acme", "load"))) === "fine") passed++;
			}
		}
	};
	await round();
	expect(passed).toBe(6);
	await publish({ loads: passed });
	pass(30_000);
	await round();
	expect(passed).toBe(6);
});

test("loads of several loaders are added up, and those of one that is silent for a minute are over", async () => {
	const { quotas, publish, pass } = setUp({ parallelLoads: 3, bytesPerDay: 31 });
	await publish({ loads: 1 }, "one");
	await publish({ loads: 2 }, "two");
	expect(await outcome(quotas().assertRoom("acme", "load"))).toBe("quota_exceeded 5");
	expect(await outcome(quotas().assertRoom("acme", "bytes"))).toBe("fine");
	await publish({ bytes: 1, loads: 3 }, "two");
	expect(await outcome(quotas().assertRoom("acme", "bytes"))).toBe("quota_exceeded 43200");
	pass(59_000);
	await publish({ loads: 2 }, "two");
	pass(1_000);
	expect(await outcome(quotas().assertRoom("acme", "load"))).toBe("fine");
});

test("rows count from the receipt on, once, whoever counted them first", async () => {
	const { quotas, publish, pass } = setUp({ rowsPerDay: 10 });
	await publish({ rows: 4 });
	const one = quotas();
	await one.assertRoom("acme", "load");
	one.addRows("acme", { rows_inserted: 100, committed_at: "2026-11-30T11:59:00.000Z" });
	expect(await outcome(one.assertRoom("acme", "load"))).toBe("fine");
	pass(2_000);
	one.addRows("acme", { rows_inserted: 6, committed_at: "2026-11-30T12:00:01.500Z" });
	expect(await outcome(one.assertRoom("acme", "load"))).toBe("quota_exceeded 43198");
	await publish({ rows: 9 });
	pass(30_000);
	expect(await outcome(one.assertRoom("acme", "load"))).toBe("fine");
});

test("bytes that this process let through since the loaders wrote stay counted after the next look", async () => {
	const { quotas, publish, pass } = setUp({ bytesPerDay: 100 });
	const one = quotas();
	await one.assertRoom("acme", "load");
	one.addBytes("acme", 60);
	pass(5_000);
	await publish({ bytes: 60 });
	pass(5_000);
	one.addBytes("acme", 39);
	pass(25_000);
	expect(await outcome(one.assertRoom("acme", "load"))).toBe("fine");
	one.addBytes("acme", 1);
	expect(await outcome(one.assertRoom("acme", "load"))).toMatch("quota_exceeded");
});

test("a loader that writes nothing any more blocks nobody for ever", async () => {
	const { quotas, pass } = setUp({ parallelLoads: 1 });
	const one = quotas();
	await one.assertRoom("acme", "load");
	pass(599_000);
	expect(await outcome(one.assertRoom("acme", "load"))).toBe("quota_exceeded 5");
	pass(31_000);
	expect(await outcome(one.assertRoom("acme", "load"))).toBe("fine");
});

test("a minute's requests are counted by key, and the headers tell what is left", async () => {
	let now = 0;
	const rate = createRequestRate({
		perMinute: 2,
		clock: { now: () => now, sleep: () => Promise.resolve() },
	});
	expect(await rate.take("a")).toMatchObject({ allowed: true, remaining: 1, resetSeconds: 60 });
	now = 30_500;
	const last = await rate.take("a");
	expect(rateLimitHeaders(last)).toEqual({
		"RateLimit-Policy": '"requests";q=2;w=60',
		RateLimit: '"requests";r=0;t=30',
	});
	expect(await rate.take("a")).toMatchObject({ allowed: false, remaining: 0 });
	expect(await rate.take("b")).toMatchObject({ allowed: true });
	now = 60_000;
	expect(await rate.take("a")).toMatchObject({ allowed: true, remaining: 1 });
});

test("a counter that tells no number refuses and sends no header", async () => {
	const keys: string[] = [];
	const rate = createBindingRate(
		{
			limit: async ({ key }) => {
				keys.push(key);
				return { success: keys.length < 2 };
			},
		},
		60,
	);
	expect(await rate.take("a")).toMatchObject({ allowed: true });
	const over = await rate.take("a");
	expect(over).toMatchObject({ allowed: false, resetSeconds: 60 });
	expect(rateLimitHeaders(over)).toEqual({});
	expect(keys).toEqual(["a", "a"]);
});
