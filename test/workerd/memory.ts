/**
 * `node test/workerd/memory.ts`: what 2 GB through the Worker cost beside 200 MB, and
 * beside a Worker that only hands its body to R2, in parts of the size that the service
 * asks for and of the largest that it takes. Writes `test/workerd/RECORD.md`.
 *
 * Local workerd runs our Worker and R2's simulation in one process, so the counters
 * are of both: the second Worker, through the same bytes, shows the simulation's share.
 * Fails where the process grew by 64 MiB or more: with the size that is asked for at
 * all, with the largest beyond what it grew with that one.
 */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import process from "node:process";
import { createTestHarness } from "wrangler";
import { systemClock } from "../../src/clock.ts";
import { defaultLimits as limits } from "../../src/limits.ts";
import { createR2Store, type R2Bucket } from "../../src/stage/stores/r2-store.ts";
import { createKey } from "../../src/tenant/keys.ts";
import { arrowNumbers } from "../contract/arrow-bytes.ts";
import { checkStartup } from "./check-startup.ts";
import { type Peaks, watchWhile, workerdOf } from "./workerd-process.ts";

process.env.CLOUDFLARE_CF_FETCH_ENABLED = "false";
process.env.WRANGLER_SEND_METRICS = "false";
process.env.CI = "1";

const root = new URL("../..", import.meta.url).pathname;
const MiB = 2 ** 20;
const small = 200_000_000;
const large = 2_000_000_000;
const maxGrowth = 64 * MiB;

/** Sends part n of an upload that is open, or an object. */
type Send = (n: number, body: Uint8Array<ArrayBuffer>) => Promise<void>;

interface Side {
	/** A new upload; its parts go by what it returns. */
	open(): Promise<Send>;
	close(): Promise<void>;
}

async function ours(): Promise<Side> {
	const server = createTestHarness({
		root,
		workers: [
			{
				configPath: "wrangler.toml",
				vars: { DUCKDOCK_MAX_UPLOAD_BYTES: String(2 ** 34), DUCKDOCK_LOG: "error" },
			},
		],
	});
	const { url } = await server.listen();
	const { OBJECTS } = await server.getWorker<{ OBJECTS: R2Bucket }>("duckdock-upload").getEnv();
	const store = createR2Store({ bucket: OBJECTS, fixedLength: () => new TransformStream() });
	const { key } = await createKey(store, systemClock, { tenant: "acme" });
	const headers = { Authorization: `Bearer ${key}` };
	return {
		async open() {
			const answer = await fetch(new URL("/v1/uploads", url), {
				method: "POST",
				headers: { ...headers, "Content-Type": "application/json" },
				body: '{"table":"big"}',
			});
			const { upload_id } = (await answer.json()) as { upload_id: string };
			return (n, body) => put(new URL(`/v1/uploads/${upload_id}/parts/${n}`, url), body, headers);
		},
		close: () => server.close(),
	};
}

async function putAlone(): Promise<Side> {
	const server = createTestHarness({
		root,
		workers: [
			{
				config: {
					name: "put",
					main: "test/workerd/put-worker.ts",
					compatibility_date: "2026-11-01",
					r2_buckets: [{ binding: "OBJECTS", bucket_name: "put" }],
				},
			},
		],
	});
	const { url } = await server.listen();
	let uploads = 0;
	return {
		async open() {
			const upload = ++uploads;
			return (n, body) => put(new URL(`/${upload}/${n}`, url), body, {});
		},
		close: () => server.close(),
	};
}

async function put(url: URL, body: Uint8Array<ArrayBuffer>, headers: Record<string, string>) {
	const answer = await fetch(url, { method: "PUT", headers, body });
	if (answer.status !== 204) throw new Error(`${answer.status} ${await answer.text()}`);
}

interface Measured {
	small: Peaks;
	/** Of the large upload, one half after the other. */
	halves: [Peaks, Peaks];
}

async function measure(start: () => Promise<Side>, partBytes: number): Promise<Measured> {
	const before = workerdOf(process.pid);
	const side = await start();
	try {
		const workerd = workerdOf(process.pid, before);
		if (workerd === undefined) throw new Error("no workerd was started");
		const part = new Uint8Array(partBytes);
		// The first bytes are looked at.
		part.set(arrowNumbers(10));
		/** Bytes `from` to `to` of an upload. */
		const upload = async (send: Send, from: number, to: number) => {
			for (let at = from; at < to; at += partBytes) {
				await send(1 + at / partBytes, part.subarray(0, Math.min(to - at, partBytes)));
			}
		};
		// What a new process takes once is not what an upload takes.
		await upload(await side.open(), 0, small);
		const shorter = await side.open();
		const longer = await side.open();
		const half = Math.ceil(large / partBytes / 2) * partBytes;
		return {
			small: await watchWhile(workerd, () => upload(shorter, 0, small)),
			halves: [
				await watchWhile(workerd, () => upload(longer, 0, half)),
				await watchWhile(workerd, () => upload(longer, half, large)),
			],
		};
	} finally {
		await side.close();
	}
}

const inMiB = (bytes: number) => (bytes / MiB).toFixed(0);
const perPart = ([one, two]: Measured["halves"]) =>
	(((one.cpuSeconds + two.cpuSeconds) * 64 * MiB) / large).toFixed(2);
const growthOf = ({ small: before, halves }: Measured) =>
	Math.max(...halves.map(({ resident }) => resident)) - before.resident;

const startup = await checkStartup(root);
const sizes = [limits.partBytes, limits.maxPartBytes];
const measured: { partBytes: number; mine: Measured; control: Measured }[] = [];
for (const partBytes of sizes) {
	measured.push({
		partBytes,
		mine: await measure(ours, partBytes),
		control: await measure(putAlone, partBytes),
	});
}

const rowOf = (cells: string[]) => `| ${cells.join(" | ")} |`;
const row = (name: string, of: (side: Measured) => string) =>
	rowOf([name, ...measured.flatMap(({ mine, control }) => [of(mine), of(control)])]);
const heads = measured.flatMap(({ partBytes }) => [
	`duckdock, ${inMiB(partBytes)} MiB`,
	`put alone, ${inMiB(partBytes)} MiB`,
]);
const commit = execFileSync("git", ["rev-parse", "--short", "HEAD"], { cwd: root }).toString();
const { version } = JSON.parse(
	readFileSync(new URL("../../node_modules/workerd/package.json", import.meta.url), "utf8"),
) as { version: string };
const text = `# What the Worker costs in workerd

By \`node test/workerd/memory.ts\` on ${new Date().toISOString().slice(0, 10)}, commit ${commit.trim()}, workerd ${version}, Node ${process.versions.node}, ${cpus().length} cores of an ${cpus()[0]?.model.trim()}. Parts of ${sizes.map(inMiB).join(" and ")} MiB (what the service asks for, and the most it takes), one after the other. The process is workerd with the Worker and R2's simulation in it, watched every 50 ms; \`put alone\` is the same bytes through a Worker that does nothing but \`env.OBJECTS.put(key, request.body)\`.

${rowOf(["", ...heads])}
${rowOf(["", ...heads].map(() => "---"))}
${row("most memory over 200 MB, MiB", ({ small: peaks }) => inMiB(peaks.resident))}
${row("most memory over the first half of 2 GB, MiB", ({ halves }) => inMiB(halves[0].resident))}
${row("most memory over its second half, MiB", ({ halves }) => inMiB(halves[1].resident))}
${row("of that, not of files, MiB", ({ halves }) => inMiB(halves[1].anonymous))}
${row("growth from 200 MB to 2 GB, MiB", (side) => inMiB(growthOf(side)))}
${row("processor time for 64 MiB, s", ({ halves }) => perPart(halves))}

Start: ${startup.gzipKiB} KiB gzipped, and ${startup.activeMs} ms in which the isolate ran while the bundle was read and its modules initialised (\`wrangler check startup\`).
`;
writeFileSync(new URL("RECORD.md", import.meta.url), text);
process.stdout.write(text);
for (const { partBytes, mine, control } of measured) {
	const simulation = partBytes === limits.partBytes ? 0 : growthOf(control);
	const growth = growthOf(mine) - simulation;
	if (growth < maxGrowth) continue;
	process.stderr.write(
		`In parts of ${inMiB(partBytes)} MiB it grew by ${inMiB(growth)} MiB, less than 64 are allowed.\n`,
	);
	process.exitCode = 1;
}
