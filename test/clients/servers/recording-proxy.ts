/** Stands before a server and notes what is asked of it, with the time until its answer began. */
import { request as ask, createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

export interface AskedRequest {
	method: string;
	/** With its query. */
	path: string;
	/** Of JSON APIs: the operation. */
	target: string | null;
	status: number;
	ms: number;
}

export interface RecordingProxy {
	endpoint: string;
	asked: AskedRequest[];
	stop(): Promise<void>;
}

export async function startRecordingProxy(server: string): Promise<RecordingProxy> {
	const { hostname, port } = new URL(server);
	const asked: AskedRequest[] = [];
	const proxy = createServer((incoming, outgoing) => {
		const started = performance.now();
		const { method = "GET", url: path = "/", headers } = incoming;
		const target = headers["x-amz-target"];
		const forwarded = ask({ hostname, port, method, path, headers }, (answer: IncomingMessage) => {
			asked.push({
				method,
				path,
				target: typeof target === "string" ? target : null,
				status: answer.statusCode!,
				ms: performance.now() - started,
			});
			outgoing.writeHead(answer.statusCode!, answer.rawHeaders);
			answer.pipe(outgoing);
		});
		// Either side may go away: the other is told.
		forwarded.on("error", () => outgoing.destroy());
		outgoing.on("close", () => forwarded.destroy());
		incoming.pipe(forwarded);
	});
	await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
	return {
		endpoint: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
		asked,
		async stop() {
			proxy.closeAllConnections();
			await new Promise((resolve) => proxy.close(resolve));
		},
	};
}
