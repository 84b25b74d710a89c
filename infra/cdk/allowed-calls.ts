/**
 * What each function may ask of the bucket and the queue. The stack makes its policies of
 * this list; `test/clients/s3-events.test.ts` records what the functions ask for and holds
 * it against the list, in both directions.
 *
 * HeadObject is s3:GetObject, and so is the read of a put with If-Match. Versions are never
 * asked for by their id. No object is large enough to be a multipart upload: bodies over
 * 4.4 MB go to the bucket in parts, each signed by the upload function.
 */

export interface AllowedCalls {
	/** Actions on objects, with the keys they may be on. */
	objects: Readonly<Record<string, readonly string[]>>;
	/**
	 * Prefixes that may be listed, and every prefix that is read: S3 answers 404 for a key
	 * that isn't there only to those who may list it, and 403 to all others.
	 */
	list: readonly string[];
	/** Actions on the queue; those of Lambda's own poller come with its event source. */
	queue: readonly string[];
}

const staging = ["uploads/*", "idempotency/*", "loads/*"];

/** Stages and answers; of `drop/` it sees whether a file is there, of `keys/` it writes when a key was last used. */
export const uploadCalls: AllowedCalls = {
	objects: {
		"s3:GetObject": [...staging, "usage/*", "tables/*", "keys/*", "drop/*", "readyz"],
		"s3:PutObject": [...staging, "keys/*/last-used.json"],
		"s3:DeleteObject": ["uploads/*"],
	},
	list: [...staging, "index/*", "usage/*", "tables/*", "keys/*", "drop/*", "readyz"],
	queue: ["sqs:SendMessage"],
};

/** Loads and removes what is over; never writes a file of `drop/`, never reads a key. */
export const replayCalls: AllowedCalls = {
	objects: {
		"s3:GetObject": [...staging, "index/*", "usage/*", "drop/*"],
		"s3:PutObject": [...staging, "index/*", "usage/*", "tables/*"],
		"s3:DeleteObject": ["uploads/*", "tables/*"],
	},
	list: [...staging, "index/*", "usage/*", "drop/*"],
	queue: ["sqs:SendMessage", "sqs:GetQueueAttributes", "sqs:ChangeMessageVisibility"],
};

/** The entry that allows a call, as `action resource`; null where none does. `on`: a key, a prefix to list, or nothing. */
export function allowedBy(calls: AllowedCalls, action: string, on: string): string | null {
	if (action.startsWith("sqs:")) return calls.queue.includes(action) ? action : null;
	const among = action === "s3:ListBucket" ? calls.list : (calls.objects[action] ?? []);
	const found = among.find((pattern) => matches(pattern, on));
	return found === undefined ? null : `${action} ${found}`;
}

/** Every entry as `allowedBy` names it. */
export function entriesOf({ objects, list, queue }: AllowedCalls): string[] {
	return [
		...Object.entries(objects).flatMap(([action, keys]) => keys.map((key) => `${action} ${key}`)),
		...list.map((prefix) => `s3:ListBucket ${prefix}`),
		...queue,
	];
}

/** As IAM does it: `*` is any characters, slashes too. */
function matches(pattern: string, text: string): boolean {
	const parts = pattern.split("*").map((part) => part.replace(/[.\\+^$()[\]{}|?]/g, "\\$&"));
	return new RegExp(`^${parts.join(".*")}$`, "s").test(text);
}
