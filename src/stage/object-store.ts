/**
 * What the product needs of object storage, and no more. One contract suite
 * (`test/contract/object-store.ts`) holds every driver to it.
 *
 * Keys are `/`-separated UTF-8 whose segments are percent-encoded by
 * `object-keys.ts`; a driver takes any key of up to 1,024 bytes as it is.
 * Errors: `store_unavailable` for what may pass (down, throttled, timed out),
 * `internal` for what will not (denied, misconfigured). A missing object is
 * `null`, a condition that does not hold is `null`; neither is an error.
 */

export interface ObjectInfo {
	key: string;
	size: number;
	/** Opaque; changes when the bytes do. */
	etag: string;
	/** Milliseconds since 1970. */
	lastModified: number;
	/** Where the store keeps versions. */
	version?: string;
}

export interface PutOptions {
	/** Create only: of N concurrent puts exactly one succeeds. */
	ifAbsent?: boolean;
	/** Only over the object that has this ETag. */
	ifMatch?: string;
	/** Known length of a stream; some drivers need it to stream at all. */
	size?: number;
	/** Need not outlive a power cut, as long as it outlives every process: leases, and what is rebuilt. */
	volatile?: boolean;
	/** Lower-case hex; bytes that differ are `digest_mismatch` and nothing is stored. */
	sha256?: string;
	signal?: AbortSignal;
}

export interface GetOptions {
	/** Bytes `offset … offset + length`, cut at the object's end; `length` absent: to the end. */
	range?: { offset: number; length?: number };
	ifMatch?: string;
	signal?: AbortSignal;
}

export interface StoredObject {
	info: ObjectInfo;
	/** All that was asked for, where the store has it in memory: then there is nothing else to read, nor to cancel. */
	readonly bytes?: Uint8Array;
	/** Single use. Cancel it if it isn't read to its end. */
	body: ReadableStream<Uint8Array>;
	/**
	 * In place of reading `body`, where the store can put bytes where they are wanted: one or more of
	 * those that come next, at the beginning of `target`. How many; 0 at the end. `body` is cancelled
	 * all the same if this doesn't come to its end.
	 */
	readInto?(target: Uint8Array): Promise<number>;
}

export interface ObjectStore {
	/** For logs and `doctor`: the driver and where it points, without secrets. */
	readonly description: string;
	/** A stream is taken only with `size`: callers that don't know it hand in whole parts. */
	readonly needsKnownLength?: boolean;
	/** Durable and readable by everyone once resolved. A body that errors leaves no object. Null: the condition did not hold. */
	put(
		key: string,
		body: Uint8Array | ReadableStream<Uint8Array>,
		options?: PutOptions,
	): Promise<ObjectInfo | null>;
	/** Null: no such object, or not with that ETag. */
	get(key: string, options?: GetOptions): Promise<StoredObject | null>;
	head(key: string): Promise<ObjectInfo | null>;
	/** Fine when nothing is there. */
	delete(key: string): Promise<void>;
	/** Ascending by key (UTF-8 bytes), every object whose key begins with `prefix` and is after `startAfter`. */
	list(prefix: string, options?: { startAfter?: string }): AsyncIterable<ObjectInfo>;
	/** Direct uploads, where the store can: a URL that takes one PUT of exactly these bytes. */
	presignPut?(
		key: string,
		options: { size: number; sha256: string; expiresInSeconds: number },
	): Promise<{ url: string; headers: Record<string, string> }>;
}
