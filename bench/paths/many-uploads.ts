/**
 * Small uploads from many clients at once, request to durable receipt.
 * `many-uploads.ts URL KEY CLIENTS UPLOADS ROWS`
 */
import { Agent, request } from "node:http";
import process from "node:process";
import {
	Float64,
	Int64,
	makeData,
	makeVector,
	Table,
	tableToIPC,
	vectorFromArray,
} from "apache-arrow";

const [url, key, clientsText, uploadsText, rowsText] = process.argv.slice(2);
const [clients, uploads, rows] = [clientsText, uploadsText, rowsText].map(Number) as [
	number,
	number,
	number,
];
const ids = BigInt64Array.from({ length: rows }, (_, row) => BigInt(row));
const values = Float64Array.from({ length: rows }, (_, row) => row / 3);
const body = Buffer.from(
	tableToIPC(
		new Table({
			id: makeVector(makeData({ type: new Int64(), data: ids, length: rows, nullCount: 0 })),
			value: makeVector(
				makeData({ type: new Float64(), data: values, length: rows, nullCount: 0 }),
			),
			label: vectorFromArray(Array.from({ length: rows }, (_, row) => `row ${row}`)),
		}),
		"stream",
	),
);
const agent = new Agent({ keepAlive: true, maxSockets: clients });

function upload(): Promise<number> {
	const started = performance.now();
	return new Promise((resolve, reject) => {
		const call = request(
			`${url}/v1/ingest/events`,
			{
				method: "POST",
				agent,
				headers: { Authorization: `Bearer ${key}`, "Content-Length": body.length },
			},
			(response) => {
				let text = "";
				response.on("data", (chunk) => {
					text += chunk;
				});
				response.on("end", () => {
					if (response.statusCode === 200) resolve(performance.now() - started);
					else if (response.statusCode === 429) {
						setTimeout(
							() => upload().then(() => resolve(performance.now() - started), reject),
							100,
						);
					} else reject(new Error(`${response.statusCode} ${text}`));
				});
			},
		);
		call.on("error", reject);
		call.end(body);
	});
}

// The first creates the table and warms the engine; it doesn't count.
await upload();
const latencies: number[] = [];
let left = uploads;
const started = performance.now();
await Promise.all(
	Array.from({ length: clients }, async () => {
		while (left > 0) {
			left -= 1;
			latencies.push(await upload());
		}
	}),
);
const seconds = (performance.now() - started) / 1000;
latencies.sort((a, b) => a - b);
const at = (share: number) =>
	latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))]!;
agent.destroy();
console.log(
	JSON.stringify({
		seconds,
		rows: rows * (uploads + 1),
		extra: { "receipts/s": uploads / seconds, "p50 ms": at(0.5), "p99 ms": at(0.99) },
	}),
);
