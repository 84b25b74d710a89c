/** A service that can't begin says why and ends, its loader with it. */
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { cliJson } from "./world.ts";

const folder = mkdtempSync(join(tmpdir(), "duckdock-serve-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const serve = (env: Record<string, string>) =>
	cliJson(["serve"], {
		env: {
			DUCKDOCK_STORE: `file:${join(folder, "objects")}`,
			DUCKDOCK_TARGET: join(folder, "db/{tenant}.duckdb"),
			DUCKDOCK_LISTEN: "127.0.0.1:0",
			...env,
		},
	});

describe("duckdock serve", () => {
	it("ends where another program has its address", async () => {
		const other = createServer();
		other.listen(0, "127.0.0.1");
		await once(other, "listening");
		const address = `127.0.0.1:${(other.address() as AddressInfo).port}`;
		const { code, json } = await serve({ DUCKDOCK_LISTEN: address });
		other.close();
		expect([code, json.code]).toEqual([2, "bad_request"]);
		expect(json.detail).toContain(`DUCKDOCK_LISTEN is ${address}, which another program has`);
	});

	it("ends where its certificate is none", async () => {
		const pem = join(folder, "no.pem");
		writeFileSync(pem, "no certificate");
		for (const path of [pem, join(folder, "nowhere.pem")]) {
			const { code, json } = await serve({ DUCKDOCK_TLS_CERT: path, DUCKDOCK_TLS_KEY: path });
			expect([code, json.code]).toEqual([2, "bad_request"]);
			expect(json.detail).toContain("DUCKDOCK_TLS_CERT");
		}
	});

	it("names all that is wrong with its configuration at once", async () => {
		const { code, json } = await serve({
			DUCKDOCK_THREADS: "some",
			DUCKDOCK_LISTEN: "0.0.0.0:1",
			DUCKDOCK_TARGET: join(folder, "one.duckdb"),
		});
		expect([code, json.code]).toEqual([2, "bad_request"]);
		for (const name of ["DUCKDOCK_THREADS", "DUCKDOCK_LISTEN", "DUCKDOCK_TARGET"]) {
			expect(json.detail).toContain(name);
		}
	});

	it("ends where its store is no folder", async () => {
		const file = join(folder, "file");
		writeFileSync(file, "");
		const { code, json } = await serve({ DUCKDOCK_STORE: `file:${file}` });
		expect([code, json.code]).toEqual([69, "store_unavailable"]);
	});
});
