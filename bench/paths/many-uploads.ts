/**
 * Small uploads from many clients at once, request to durable receipt.
 * `many-uploads.ts URL KEY CLIENTS UPLOADS ROWS WARM`
 *
 * Each client is a connection that is kept, on which the same bytes are written again and again
 * and answers are read no further than HTTP asks: on a machine of two cores the clients share
 * them with what is measured. `WARM` uploads go before, and are not counted.
 */
import { connect, type Socket } from "node:net";
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

const [url, key, ...numbers] = process.argv.slice(2);
const [clients, uploads, rows, warm] = numbers.map(Number) as [number, number, number, number];
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
const { hostname, port } = new URL(url!);
const head = [
	"POST /v1/ingest/events HTTP/1.1",
	`Host: ${hostname}:${port}`,
	`Authorization: Bearer ${key}`,
	`Content-Length: ${body.length}`,
];
const request = Buffer.concat([Buffer.from(`${head.join("\r\n")}\r\n\r\n`), body]);
const busyPauseMs = 100;

interface Client {
	/** Status of the answer. */
	upload(): Promise<number>;
	close(): void;
}

async function openClient(): Promise<Client> {
	const socket: Socket = connect(Number(port), hostname);
	socket.setNoDelay(true);
	await new Promise<void>((resolve, reject) =>
		socket.once("connect", resolve).once("error", reject),
	);
	let received = "";
	let answered: PromiseWithResolvers<number> | null = null;
	socket.on("error", (error) => answered?.reject(error));
	socket.on("close", () => answered?.reject(new Error(`the connection was closed: ${received}`)));
	socket.on("data", (chunk) => {
		received += chunk.toString("latin1");
		const end = received.indexOf("\r\n\r\n");
		if (end < 0) return;
		const length = /^content-length: (\d+)\r$/im.exec(received.slice(0, end + 1))?.[1];
		if (length === undefined) answered?.reject(new Error(`no length: ${received.slice(0, end)}`));
		if (received.length < end + 4 + Number(length)) return;
		const status = Number(received.slice(9, 12));
		if (status === 200 || status === 429) answered?.resolve(status);
		else answered?.reject(new Error(received));
		received = "";
	});
	return {
		upload() {
			answered = Promise.withResolvers();
			socket.write(request);
			return answered.promise;
		},
		close: () => socket.destroy(),
	};
}

async function uploadAll(count: number): Promise<number[]> {
	const latencies: number[] = [];
	let left = count;
	await Promise.all(
		connections.map(async (client) => {
			while (left > 0) {
				left -= 1;
				const started = performance.now();
				while ((await client.upload()) === 429) {
					await new Promise((resolve) => setTimeout(resolve, busyPauseMs));
				}
				latencies.push(performance.now() - started);
			}
		}),
	);
	return latencies;
}

const connections = await Promise.all(Array.from({ length: clients }, openClient));
// The first makes the table.
await connections[0]!.upload();
await uploadAll(warm);
// Who measures the service notes its processor time between the two lines.
console.log("begin");
await new Promise<void>((resolve) => process.stdin.once("data", () => resolve()));
const before = process.cpuUsage();
const started = performance.now();
const latencies = await uploadAll(uploads);
const seconds = (performance.now() - started) / 1000;
const { user, system } = process.cpuUsage(before);
for (const client of connections) client.close();
process.stdin.destroy();
latencies.sort((a, b) => a - b);
const at = (share: number) =>
	latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))]!;
console.log(
	JSON.stringify({
		seconds,
		rows: rows * uploads,
		extra: {
			"receipts/s": uploads / seconds,
			"p50 ms": at(0.5),
			"p99 ms": at(0.99),
			"client CPU ms": (user + system) / 1000 / uploads,
		},
	}),
);
