/**
 * What a file says of an object.
 *
 * ETag: size and modification time. A put that may replace something sets a
 * modification time, in microseconds, that no put of this process had before; so the
 * ETag changes with every put, and with every edit by other hands, and survives a
 * copy that keeps times.
 */

import type { ObjectInfo } from "../object-store.ts";

export interface FileTimes {
	size: bigint;
	mtimeNs: bigint;
}

export const etagOf = ({ size, mtimeNs }: FileTimes) =>
	`${mtimeNs.toString(36)}-${size.toString(36)}`;

export function infoOf(key: string, file: FileTimes): ObjectInfo {
	const lastModified = Number(file.mtimeNs / 1_000_000n);
	return { key, size: Number(file.size), etag: etagOf(file), lastModified };
}
