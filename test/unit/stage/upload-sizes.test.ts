import { describe, expect, it } from "vitest";
import { createUploadSizes } from "../../../src/stage/upload-sizes.ts";

describe("the bytes of an upload", () => {
	const world = (others: number) => {
		const sizes = createUploadSizes();
		let counted = 0;
		const fits = (size: number) =>
			sizes.assertFits({
				uploadId: "u",
				size,
				limit: 100,
				countOthers: async () => {
					counted++;
					return others;
				},
			});
		return { sizes, fits, counted: () => counted };
	};

	it("are not counted while what was put fits", async () => {
		const { sizes, fits, counted } = world(0);
		for (let n = 0; n < 10; n++) {
			await fits(10);
			sizes.add("u", 10);
		}
		expect(counted()).toBe(0);
	});

	it("beyond the limit are refused, with the limit", async () => {
		const { sizes, fits } = world(95);
		sizes.add("u", 95);
		await expect(fits(6)).rejects.toMatchObject({
			code: "too_large",
			extra: { limit_bytes: 100 },
		});
		await fits(5);
	});

	it("that were put again count once", async () => {
		const { sizes, fits, counted } = world(40);
		for (let time = 0; time < 3; time++) sizes.add("u", 40);
		await fits(40);
		expect(counted()).toBe(1);
		// From what was counted on.
		await fits(40);
		expect(counted()).toBe(1);
	});
});
