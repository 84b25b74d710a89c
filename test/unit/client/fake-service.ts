/** The upload routes in memory, as API.md has them, behind a `fetch` that can be told to fail. */
import { createHash } from "node:crypto";

export interface FakeService {
	fetch: typeof fetch;
	parts: Map<number, Uint8Array>;
	requests: string[];
	/** Called before each request: a Response or an error in place of the answer. */
	disturb: (method: string, path: string, count: number) => Response | undefined;
	state: "open" | "completed" | "expired";
	loadPolls: number;
	peakParallel: number;
}

export const uploadId = "01JZX0Q3T8M3V5W7X9YABCDEFG";

export function createFakeService(partSize = 10, failure: object | null = null): FakeService {
	const counts = new Map<string, number>();
	let running = 0;
	const json = (status: number, body: unknown, headers: Record<string, string> = {}) =>
		new Response(status === 204 ? null : JSON.stringify(body), { status, headers });
	const receipt = () => {
		const all = [...service.parts].sort(([a], [b]) => a - b);
		const bytes = all.flatMap(([, part]) => [...part]);
		const status = failure === null ? "committed" : "failed";
		return {
			load_id: uploadId,
			status,
			bytes: bytes.length,
			text: String.fromCharCode(...bytes),
			error: failure,
		};
	};
	const answer = async (method: string, path: string, init: RequestInit): Promise<Response> => {
		if (method === "POST" && path === "/v1/uploads") {
			return json(201, {
				upload_id: uploadId,
				part_size: partSize,
				max_parts: 100,
				max_bytes: 1_000,
				expires_at: "",
				parts: "proxy",
			});
		}
		const part = /\/parts\/(\d+)$/.exec(path);
		if (part) {
			const bytes = new Uint8Array(await new Response(init.body).arrayBuffer());
			const digest = createHash("sha256").update(bytes).digest("base64");
			if (new Headers(init.headers).get("Content-Digest") !== `sha-256=:${digest}:`) {
				return json(400, {
					code: "digest_mismatch",
					detail: "other bytes",
					status: 400,
					retryable: false,
				});
			}
			service.parts.set(Number(part[1]), bytes);
			return json(204, null);
		}
		if (path.endsWith("/complete")) {
			service.state = "completed";
			return json(202, {}, { Location: `/v1/loads/${uploadId}` });
		}
		if (path === `/v1/uploads/${uploadId}`) {
			const parts = [...service.parts].map(([n, bytes]) => ({
				n,
				size: bytes.length,
				sha256: createHash("sha256").update(bytes).digest("hex"),
			}));
			return json(200, { state: service.state, parts, load_id: uploadId });
		}
		if (path === `/v1/loads/${uploadId}`) {
			service.loadPolls += 1;
			return json(
				200,
				service.loadPolls < 3 ? { status: "loading", load_id: uploadId } : receipt(),
			);
		}
		return json(404, { code: "bad_request", detail: path, status: 404, retryable: false });
	};
	const service: FakeService = {
		parts: new Map(),
		requests: [],
		disturb: () => undefined,
		state: "open",
		loadPolls: 0,
		peakParallel: 0,
		fetch: async (input, init = {}) => {
			const { pathname, search } = new URL(String(input));
			const method = init.method ?? "GET";
			const name = `${method} ${pathname}`;
			counts.set(name, (counts.get(name) ?? 0) + 1);
			service.requests.push(name);
			running += 1;
			service.peakParallel = Math.max(service.peakParallel, running);
			try {
				await new Promise((resolve) => setTimeout(resolve, 1));
				init.signal?.throwIfAborted();
				return (
					service.disturb(method, pathname, counts.get(name)!) ??
					(await answer(method, pathname + search, init))
				);
			} finally {
				running -= 1;
			}
		},
	};
	return service;
}
