/** A Worker whose one purpose is to let a suite in Node reach `createR2Store` in workerd. */
import { IngestError } from "../../src/errors.ts";
import { createR2Store, type R2Bucket } from "../../src/stage/stores/r2-store.ts";

declare const FixedLengthStream: new (size: number) => TransformStream<Uint8Array, Uint8Array>;

interface Call {
	method: "put" | "get" | "head" | "delete" | "list";
	key: string;
	/** Of a put: whether the body goes on as a stream. */
	stream?: boolean;
	// biome-ignore lint/suspicious/noExplicitAny: whatever the suite hands the driver
	options?: any;
}

export default {
	async fetch(request: Request, env: { OBJECTS: R2Bucket }): Promise<Response> {
		const store = createR2Store({
			bucket: env.OBJECTS,
			fixedLength: (size) => new FixedLengthStream(size),
			prefix: "suite/",
		});
		const call = JSON.parse(new URL(request.url).searchParams.get("call")!) as Call;
		try {
			if (call.method === "put") {
				const empty = new ReadableStream<Uint8Array>({ start: (stream) => stream.close() });
				const body = call.stream
					? (request.body ?? empty)
					: new Uint8Array(await request.arrayBuffer());
				return Response.json(await store.put(call.key, body, call.options));
			}
			if (call.method === "get") {
				const object = await store.get(call.key, call.options);
				if (object === null) return Response.json(null);
				const info = encodeURIComponent(JSON.stringify(object.info));
				return new Response(object.body, { headers: { "X-Info": info } });
			}
			if (call.method === "head") return Response.json(await store.head(call.key));
			if (call.method === "delete") return Response.json((await store.delete(call.key)) ?? null);
			const found = [];
			for await (const info of store.list(call.key, call.options)) found.push(info);
			return Response.json(found);
		} catch (error) {
			const code = error instanceof IngestError ? error.code : "unknown";
			return Response.json({ code, message: String(error) }, { status: 500 });
		}
	},
};
