/** The files that Cloudflare is deployed by: each environment builds, and they fit together. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { afterAll, expect, test } from "vitest";
import { unstable_readConfig as readConfig } from "wrangler";
import { root, runProcess } from "../e2e/world.ts";

const outdir = mkdtempSync(join(tmpdir(), "duckdock-wrangler-"));
afterAll(() => rmSync(outdir, { recursive: true, force: true }));

const upload = "wrangler.toml";
const trigger = "infra/wrangler.trigger.toml";
const loader = "infra/wrangler.loader.toml";
/** Dev is what stands above them. */
const environments = ["", "staging", "production"];

test.each([
	...environments.map((env) => [upload, env] as const),
	...environments.map((env) => [trigger, env] as const),
	// Building its image needs an engine, which a rollout of none spares.
	...environments.map((env) => [loader, env] as const),
])("%s builds for '%s' as it would be deployed", async (config, env) => {
	const ran = await runProcess(
		process.execPath,
		[
			join(root, "node_modules/wrangler/bin/wrangler.js"),
			...["deploy", "--dry-run", "--outdir", outdir, "--config", config],
			`--env=${env}`,
			...(config === loader ? ["--containers-rollout=none"] : []),
		],
		{ env: { CI: "1", WRANGLER_SEND_METRICS: "false", CLOUDFLARE_CF_FETCH_ENABLED: "false" } },
	);
	expect(ran.code, ran.stderr).toBe(0);
	expect(ran.stdout).toContain("--dry-run: exiting now.");
	// How the local runtime's bucket is reached is new, and says so.
	const warnings = (ran.stderr + ran.stdout).split("WARNING").slice(1);
	expect(warnings.filter((text) => !text.includes("local_dev"))).toEqual([]);
	const [, gzipKiB] = /gzip: ([\d.]+) KiB/.exec(ran.stdout) ?? [];
	expect(Number(gzipKiB)).toBeLessThan(300);
});

const read = (config: string, env: string) =>
	readConfig({ config: join(root, config), ...(env === "" ? {} : { env }) });

test.each(environments)(
	"what the upload side sends in '%s', the consumer takes, with dead letters that are taken too",
	(env) => {
		const sender = read(upload, env);
		const consumer = read(trigger, env);
		const [{ queue }] = sender.queues.producers as [{ queue: string }];
		const consumers = consumer.queues.consumers ?? [];
		const loads = consumers.find((one) => one.queue === queue);
		expect(loads?.max_retries).toBeGreaterThan(0);
		expect(loads?.dead_letter_queue).toBe(`${queue}-dead`);
		expect(consumers.map((one) => one.queue)).toContain(loads!.dead_letter_queue);
		for (const { observability } of [sender, consumer]) expect(observability?.enabled).toBe(true);
		expect(sender.r2_buckets.map(({ binding }) => binding)).toContain("OBJECTS");
		const { vars, services } = consumer;
		const bound = (services ?? []).some(({ binding }) => binding === "LOADER");
		expect(bound).toBe(vars.LOADER_URL === "");
	},
);

test("no two environments share a name, a bucket or a queue", () => {
	const all = [upload, trigger, loader].flatMap((config) =>
		environments.map((env) => read(config, env)),
	);
	const names = all.flatMap(({ name, r2_buckets, queues }) => [
		name,
		...r2_buckets.map(({ bucket_name }) => bucket_name),
		...(queues.producers ?? []).map(({ queue }) => queue),
	]);
	expect(new Set(names).size).toBe(names.length);
});

test.each(["staging", "production"])(
	"the consumer's binding in %s is the container's Worker, which reads the bucket that is written",
	(env) => {
		const contained = read(loader, env);
		expect(read(trigger, env).services).toMatchObject([
			{ binding: "LOADER", service: contained.name },
		]);
		const [bucket] = read(upload, env).r2_buckets;
		expect(contained.vars.DUCKDOCK_STORE).toBe(`s3://${bucket!.bucket_name}`);
		const [container] = contained.containers ?? [];
		expect(contained.durable_objects.bindings).toMatchObject([
			{ class_name: container!.class_name },
		]);
		expect(container!.max_instances).toBe(Number(contained.vars.LOADER_INSTANCES));
		expect(contained.observability?.enabled).toBe(true);
	},
);
