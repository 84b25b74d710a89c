/** HTTPS by the service itself, with a certificate made for the run. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { arrowNumbers } from "../contract/arrow-bytes.ts";
import { createWorld, type World } from "./world.ts";

const hasOpenssl = spawnSync("openssl", ["version"]).status === 0;
if (!hasOpenssl) console.log("skipped: there is no openssl to make a certificate with");

describe.skipIf(!hasOpenssl)("the service with DUCKDOCK_TLS_CERT and _KEY", () => {
	let folder: string;
	let world: World;
	let ca: Buffer;
	beforeAll(async () => {
		folder = mkdtempSync(join(tmpdir(), "duckdock-tls-"));
		const [cert, key] = [join(folder, "cert.pem"), join(folder, "key.pem")];
		const subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"];
		const made = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
		execFileSync(
			"openssl",
			["req", ...made, "-days", "2", "-keyout", key, "-out", cert, ...subject],
			{ stdio: "ignore" },
		);
		ca = readFileSync(cert);
		world = await createWorld({ DUCKDOCK_TLS_CERT: cert, DUCKDOCK_TLS_KEY: key });
		await world.start();
	});
	afterAll(async () => {
		await world?.end();
		if (folder) rmSync(folder, { recursive: true, force: true });
	});

	const ask = (path: string, body?: Uint8Array) =>
		new Promise<{ status: number; headers: NodeJS.Dict<string | string[]>; text: string }>(
			(resolve, reject) => {
				const asked = request(
					new URL(path, world.url),
					{
						ca,
						method: body ? "POST" : "GET",
						headers: { Authorization: `Bearer ${world.key}` },
					},
					(response) => {
						let text = "";
						response.on("data", (chunk) => {
							text += chunk;
						});
						response.on("end", () =>
							resolve({ status: response.statusCode!, headers: response.headers, text }),
						);
					},
				);
				asked.on("error", reject);
				asked.end(body);
			},
		);

	test("loads over HTTPS and tells browsers to stay with it", async () => {
		expect(world.url).toMatch(/^https:/);
		const answer = await ask("/v1/ingest/t", arrowNumbers());
		expect([answer.status, JSON.parse(answer.text).rows_inserted]).toEqual([200, 3]);
		expect(answer.headers["strict-transport-security"]).toMatch(/^max-age=\d+/);
	});

	test("answers nothing over plain HTTP", async () => {
		await expect(fetch(world.url.replace("https:", "http:"))).rejects.toThrow();
	});
});
