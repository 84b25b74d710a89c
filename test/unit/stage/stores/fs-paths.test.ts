import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
	pathOfKey,
	segmentOfFile,
	segmentOfFolder,
} from "../../../../src/stage/stores/fs-paths.ts";
import { oddKeys, pathLikeKeys } from "../../../contract/object-store.ts";

const id = "01JDXM2Q6V8Z3T4R5W6Y7A8B9C";

describe("the path of a key", () => {
	it.each([
		[`uploads/acme/${id}/parts/00001`, `uploads/acme/${id}/parts/00001.o`],
		[`uploads/acme/${id}/manifest.json`, `uploads/acme/${id}/manifest.json`],
		[`loads/acme/${id}.json`, `loads/acme/${id}.json`],
		["tables/acme/main/a%20b.json", "tables/acme/main/a%2520b.json"],
		["a/../b", "a/%2e%2e/b.o"],
		["a//b.", "a/%_/b%2e.o"],
	])("of %s can be read by a person: %s", (key, path) => {
		expect(pathOfKey(key)).toBe(path);
	});

	const character = fc.oneof(
		fc.constantFrom(..."aAbB0./%~_ oO\n\\:é🦆"),
		fc.string({ unit: "binary", minLength: 1, maxLength: 1 }),
	);
	const anyKey = fc
		.oneof(
			fc.array(character, { maxLength: 40 }).map((all) => all.join("")),
			fc.constantFrom(...oddKeys, ...pathLikeKeys, id, id.toLowerCase()),
			fc.nat({ max: 700 }).map((length) => `x/${"é".repeat(length)}`),
		)
		.filter((key) => key.isWellFormed() && !key.includes("\0"));

	it("gives the key back, has names that every file system takes, and stays below its root", () => {
		fc.assert(
			fc.property(anyKey, (key) => {
				const pieces = pathOfKey(key).split("/");
				const segments: string[] = [];
				let begun = "";
				for (const [at, piece] of pieces.entries()) {
					expect(piece.length).toBeLessThanOrEqual(205);
					expect(piece).toMatch(/^[a-zA-Z0-9_\-.~=,+@%]+$/);
					expect(piece).not.toMatch(/^\.+$/);
					if (piece.endsWith("%~")) begun += piece.slice(0, -2);
					else {
						const last = at === pieces.length - 1;
						segments.push(last ? segmentOfFile(begun + piece) : segmentOfFolder(begun + piece));
						begun = "";
					}
				}
				expect(segments.join("/")).toBe(key);
			}),
			{ numRuns: 2_000, seed: 7 },
		);
	});

	it("is no other key's, not even where case doesn't count, nor that of another's folder", () => {
		fc.assert(
			fc.property(anyKey, anyKey, (a, b) => {
				const [x, y] = [pathOfKey(a).toLowerCase(), pathOfKey(b).toLowerCase()];
				expect(x === y).toBe(a === b);
				expect(y.startsWith(`${x}/`)).toBe(false);
			}),
			{ numRuns: 5_000, seed: 11 },
		);
	});
});
