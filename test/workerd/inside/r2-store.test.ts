/**
 * The laws of the store, kept by the R2 driver on R2's local runtime. The suite itself
 * runs in workerd (`@cloudflare/vitest-plugin`): the driver is handed workerd's own
 * streams, as in the Worker.
 */
import { env } from "cloudflare:workers";
import { createR2Store, type R2Bucket } from "../../../src/stage/stores/r2-store.ts";
import { describeObjectStore } from "../../contract/object-store.ts";

declare const FixedLengthStream: new (size: number) => TransformStream<Uint8Array, Uint8Array>;

const store = createR2Store({
	bucket: env.OBJECTS as R2Bucket,
	fixedLength: (size) => new FixedLengthStream(size),
	prefix: "suite/",
});

describeObjectStore("R2 in workerd", { open: async () => store, pageSize: 1_000 });
