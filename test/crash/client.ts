/** A caller that never gives up: one load, over however many deaths, until it has its receipt. */
import { tableFromArrays, tableToIPC } from "apache-arrow";
import type { Receipt } from "../../src/flow.ts";

export interface Spec {
	tag: string;
	table: string;
	mode: "append" | "create" | "replace" | "create_append";
	rows: number;
	/** One request, parts under a key, parts under their upload's id alone, or one append after the other. */
	way: "ingest" | "keyed parts" | "parts" | "appends";
}

export interface Ended {
	spec: Spec;
	/** The final receipt, or the problem that no retry mends. */
	receipt: Receipt | null;
	problem: unknown;
	requests: number;
}

/** Under constant deaths a load may need many tries; one that never ends is a fault. */
const patienceMs = 1_800_000;
const pause = () => new Promise((next) => setTimeout(next, 60 + Math.random() * 200));

export function bytesOf({ tag, rows }: Spec): Uint8Array<ArrayBuffer> {
	const table = tableFromArrays({
		n: Int32Array.from({ length: rows }, (_, at) => at),
		tag: Array.from({ length: rows }, () => tag),
	});
	return new Uint8Array(tableToIPC(table, "stream"));
}

export async function loadUntilDone(
	service: () => { url: string; key: string },
	spec: Spec,
): Promise<Ended> {
	const bytes = bytesOf(spec);
	const started = Date.now();
	let requests = 0;

	/** Null: nobody answered, or the answer says to come again. */
	async function ask(method: string, path: string, body: BodyInit | null, headers = {}) {
		requests++;
		try {
			const { url, key } = service();
			const response = await fetch(url + path, {
				method,
				body,
				headers: {
					Authorization: `Bearer ${key}`,
					...(typeof body === "string" ? { "Content-Type": "application/json" } : {}),
					...headers,
				},
				signal: AbortSignal.timeout(60_000),
			});
			const text = await response.text();
			const json = text === "" ? null : JSON.parse(text);
			// Without a key a failed load runs again when it is asked to.
			const isKeyless = spec.way === "parts" || spec.way === "appends";
			if (response.status >= 500 && json?.load_id && isKeyless) {
				await ask("POST", `/v1/loads/${json.load_id}/replay`, null);
			}
			if (response.status >= 500 || response.status === 429) return null;
			if (json?.code === "load_in_progress") return null;
			return { status: response.status, json, headers: response.headers };
		} catch {
			return null;
		}
	}

	async function insist(method: string, path: string, body: BodyInit | null, headers = {}) {
		for (;;) {
			const answer = await ask(method, path, body, headers);
			if (answer !== null) return answer;
			if (Date.now() - started > patienceMs) throw new Error(`${spec.tag}: no answer in time`);
			await pause();
		}
	}

	const end = (answer: { status: number; json: unknown }): Ended =>
		answer.status === 200
			? { spec, receipt: answer.json as Receipt, problem: null, requests }
			: { spec, receipt: null, problem: answer.json, requests };

	if (spec.way === "ingest") {
		const path = `/v1/ingest/${spec.table}?mode=${spec.mode}`;
		return end(await insist("POST", path, bytes, { "Idempotency-Key": spec.tag }));
	}
	if (spec.way === "appends") return await append();
	const created = await insist(
		"POST",
		"/v1/uploads",
		JSON.stringify({
			table: spec.table,
			mode: spec.mode,
			...(spec.way === "keyed parts" ? { idempotency_key: spec.tag } : {}),
		}),
	);
	if (created.status !== 201) return end(created);
	const path = `/v1/uploads/${created.json.upload_id}`;
	const size = Math.ceil(bytes.length / 3);
	for (let n = 1; n <= 3; n++) {
		const part = bytes.slice((n - 1) * size, n * size);
		const put = await insist("PUT", `${path}/parts/${n}`, part);
		if (put.status !== 204) return end(put);
	}
	for (;;) {
		const body = JSON.stringify({ parts: 3 });
		const answer = await insist("POST", `${path}/complete`, body, { Prefer: "wait=20" });
		if (answer.status !== 202) return end(answer);
		if (Date.now() - started > patienceMs) throw new Error(`${spec.tag}: no receipt in time`);
	}

	/** A third at a time, from where the service says; what is complete is asked for its receipt. */
	async function append(): Promise<Ended> {
		const begun = await insist("POST", `/v1/ingest/${spec.table}?mode=${spec.mode}`, null, {
			"Upload-Complete": "?0",
		});
		if (begun.status !== 201) return end(begun);
		const upload = begun.headers.get("location")!;
		for (;;) {
			const state = await insist("HEAD", upload, null);
			if (state.status >= 400) return end(state);
			if (state.headers.get("upload-complete") === "?1") break;
			const offset = Number(state.headers.get("upload-offset"));
			const to = Math.min(offset + Math.ceil(bytes.length / 3), bytes.length);
			const answer = await ask("PATCH", upload, bytes.slice(offset, to), {
				"Content-Type": "application/partial-upload",
				"Upload-Offset": String(offset),
				"Upload-Complete": to === bytes.length ? "?1" : "?0",
			});
			if (answer !== null && answer.status === 200) return end(answer);
			const isOver = answer !== null && answer.status >= 400 && answer.status !== 409;
			if (isOver) return end(answer);
			if (Date.now() - started > patienceMs) throw new Error(`${spec.tag}: no end in time`);
			if (answer === null) await pause();
		}
		const load = `/v1/loads/${upload.split("/").at(-1)}`;
		for (;;) {
			const { json } = await insist("GET", load, null);
			if (json.status === "committed") return end({ status: 200, json });
			if (json.status === "failed") await ask("POST", `${load}/replay`, null);
			if (Date.now() - started > patienceMs) throw new Error(`${spec.tag}: no receipt in time`);
			await pause();
		}
	}
}
