import { describe, expect, it } from "vitest";
import { type ErrorCode, errorCodes } from "../../../src/errors.ts";
import { maxAttemptsOf, pauseMs, verdicts } from "../../../src/replay/verdict.ts";
import { problemKinds } from "../../../src/upload/problem-json.ts";

describe("the verdict on an error", () => {
	it("is never to try again what the caller is told not to retry", () => {
		for (const code of Object.keys(errorCodes) as ErrorCode[]) {
			if (!problemKinds[code].retryable) expect(verdicts[code], code).toBe("never");
		}
	});

	it("lets pauses grow, jittered and bounded", () => {
		for (let attempt = 1; attempt < 40; attempt++) {
			expect(pauseMs(attempt, () => 0)).toBeLessThan(pauseMs(attempt, () => 0.999));
			expect(pauseMs(attempt, () => 1)).toBeLessThanOrEqual(30_000);
			expect(pauseMs(attempt, () => 0)).toBeGreaterThanOrEqual(50);
		}
		expect(pauseMs(3, () => 0.5)).toBeGreaterThan(pauseMs(1, () => 0.5));
		expect(maxAttemptsOf("internal")).toBeLessThan(maxAttemptsOf("store_unavailable"));
	});
});
