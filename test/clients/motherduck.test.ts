/**
 * MotherDuck as far as it goes without an account: its signed extension is loaded, and
 * where it asks its service, `doctor` says so and how to mend it. A load was not run.
 */
import { rmSync } from "node:fs";
import { afterAll, beforeAll, expect, it } from "vitest";
import { cliJson, createWorld, type Json, type World } from "../e2e/world.ts";
import { extensionFolder } from "./duckdb-extensions.ts";

let world: World;
let extensions: string;
beforeAll(async () => {
	extensions = await extensionFolder();
	world = await createWorld({
		DUCKDOCK_EXTENSIONS: extensions,
		motherduck_token: "no token of anybody",
	});
});
afterAll(async () => {
	await world?.end();
	rmSync(extensions, { recursive: true, force: true });
});

it("doctor --target md:… loads the extension and names what it could not reach or who refused it", async () => {
	const { code, json } = await cliJson(["doctor", "--target", "md:{tenant}"], { env: world.env });
	const target = json.checks.find((check: Json) => check.name === "target");
	expect(target.ok).toBe(false);
	// Without network the service is not reached, with it the token is refused: either way it was asked.
	expect(target.detail).toMatch(/motherduck/i);
	expect(target.detail).not.toMatch(/extensions\.duckdb\.org/);
	expect(target.fix).toMatch(/token/);
	expect(code).toBe(69);
});
