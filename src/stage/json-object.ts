/** JSON documents in the object store: small, whole, UTF-8. */
import { IngestError } from "../errors.ts";
import type { ObjectInfo, ObjectStore, PutOptions } from "./object-store.ts";
import { readObject } from "./read-object.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

export interface StoredJson<T> {
	value: T;
	info: ObjectInfo;
}

/** Null: no such object. `internal` for one that isn't JSON. */
export async function getJson<T>(store: ObjectStore, key: string): Promise<StoredJson<T> | null> {
	const object = await store.get(key);
	if (object === null) return null;
	const text = decoder.decode(await readObject(object));
	try {
		return { value: JSON.parse(text) as T, info: object.info };
	} catch (cause) {
		throw new IngestError("internal", `the object ${key} is not JSON`, { cause });
	}
}

/** Null: the condition did not hold. */
export function putJson(
	store: ObjectStore,
	key: string,
	value: unknown,
	options: Pick<PutOptions, "ifAbsent" | "ifMatch" | "volatile"> = {},
): Promise<ObjectInfo | null> {
	return store.put(key, encoder.encode(JSON.stringify(value)), options);
}
