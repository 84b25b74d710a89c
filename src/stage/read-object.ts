/** All bytes of an object that was asked for without a range, for objects that fit into memory. */

import { IngestError } from "../errors.ts";
import type { StoredObject } from "./object-store.ts";

/** `store_unavailable` where the object ends before its size. */
export async function readObject(object: StoredObject): Promise<Uint8Array> {
	const { info } = object;
	if (object.bytes !== undefined) return object.bytes;
	if (object.readInto === undefined) {
		const body = object.body as ReadableStream<Uint8Array<ArrayBuffer>>;
		return new Uint8Array(await new Response(body).arrayBuffer());
	}
	const bytes = new Uint8Array(info.size);
	for (let at = 0; at < bytes.length; ) {
		const count = await object.readInto(bytes.subarray(at));
		if (count === 0) {
			throw new IngestError(
				"store_unavailable",
				`${info.key} has ${info.size} bytes, ${at} of them came`,
			);
		}
		at += count;
	}
	return bytes;
}
