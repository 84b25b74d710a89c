import { describe, expect, it } from "vitest";
import type { Manifest } from "../../../src/flow.ts";
import {
	createLane,
	groupEnded,
	isIdle,
	nextGroup,
	patienceMs,
	type Waiting,
} from "../../../src/replay/lane.ts";
import type { BegunLoad } from "../../../src/replay/replay-one.ts";

const mebi = 1024 * 1024;

function waiting(
	load: { size?: number; deaths?: number; dry_run?: boolean; since?: number } = {},
): Waiting {
	const { size = 1_000, deaths = 0, dry_run = false, since = 0 } = load;
	const manifest = { dry_run, source: { kind: "http" }, mode: "append" } as Manifest;
	return {
		load: { size, deaths, manifest } as BegunLoad,
		delivery: {} as Waiting["delivery"],
		since,
	};
}
const laneOf = (...loads: Waiting[]) => Object.assign(createLane("acme"), { waiting: loads });
const which = { maxShared: 64, suspects: false, patient: false };

describe("the next group of a lane", () => {
	it("is all small loads that wait, up to the most that share", () => {
		const lane = laneOf(...Array.from({ length: 70 }, () => waiting()));
		expect(nextGroup(lane, which)).toHaveLength(64);
		expect(nextGroup(lane, which)).toHaveLength(6);
		expect(nextGroup(lane, which)).toBeNull();
	});

	it("holds no more than 32 MiB", () => {
		const lane = laneOf(...Array.from({ length: 9 }, () => waiting({ size: 7 * mebi })));
		expect(nextGroup(lane, which)).toHaveLength(4);
	});

	it("is one load where it is large, a dry run or was open when a loader died", () => {
		for (const load of [{ size: 9 * mebi }, { dry_run: true }]) {
			expect(nextGroup(laneOf(waiting(load), waiting()), which)).toHaveLength(1);
		}
		const suspects = laneOf(waiting(), waiting({ deaths: 1 }), waiting({ deaths: 1 }));
		expect(nextGroup(suspects, { ...which, suspects: true })).toHaveLength(1);
	});

	it("waits while another one shares, large loads don't", () => {
		const lane = Object.assign(laneOf(waiting(), waiting({ size: 9 * mebi })), { sharing: true });
		expect(nextGroup(lane, which)?.[0]?.load.size).toBe(9 * mebi);
		expect(nextGroup(lane, which)).toBeNull();
	});
});

describe("the patience of a lane", () => {
	it("lasts until half as many wait as shared last, or as long as those took, 50 ms at most", () => {
		const lane = laneOf(waiting());
		groupEnded(lane, 5, 40, 1_000);
		expect(patienceMs(lane, 64, 1_000)).toBe(40);
		expect(patienceMs(lane, 64, 1_030)).toBe(10);
		expect(patienceMs(lane, 64, 1_040)).toBe(0);
		lane.waiting.push(waiting(), waiting());
		expect(patienceMs(lane, 64, 1_000)).toBe(0);
		groupEnded(lane, 31, 5_000, 1_000);
		expect(patienceMs(lane, 64, 1_000)).toBe(50);
		expect(patienceMs(lane, 3, 1_000)).toBe(0);
	});

	it("begins with the first who comes after the group, within a second", () => {
		const lane = laneOf(waiting({ since: 1_500 }));
		groupEnded(lane, 31, 40, 1_000);
		expect(patienceMs(lane, 64, 1_510)).toBe(30);
		expect(patienceMs(laneOf(waiting({ since: 2_001 })), 64, 2_001)).toBe(0);
		expect(patienceMs(lane, 64, 2_001)).toBe(0);
	});

	it("is soon none for who comes alone, and holds back no large load", () => {
		const alone = laneOf(waiting());
		expect(patienceMs(alone, 64, 0)).toBe(0);
		groupEnded(alone, 16, 40, 1_000);
		const patience = [];
		for (let n = 0; n < 5; n++) {
			groupEnded(alone, 1, 5, 1_000);
			patience.push(patienceMs(alone, 64, 1_000));
		}
		expect(patience).toEqual([40, 40, 0, 0, 0]);
		const large = laneOf(waiting({ size: 9 * mebi }));
		groupEnded(large, 5, 40, 1_000);
		expect(patienceMs(large, 64, 1_000)).toBe(0);
		expect(nextGroup(large, { ...which, patient: true })).toHaveLength(1);
	});

	it("is remembered by a lane in which nothing waits, for a second", () => {
		const lane = createLane("acme");
		groupEnded(lane, 5, 40, 1_000);
		expect(isIdle(lane, 2_000)).toBe(false);
		expect(isIdle(lane, 2_001)).toBe(true);
	});
});
