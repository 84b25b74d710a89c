/** Files under `drop/` of a store that is a folder: staged as a bucket's event would have it; a service's sweep finds them. */
import { join } from "node:path";
import { systemClock as clock } from "../../src/clock.ts";
import { defaultLimits } from "../../src/limits.ts";
import { silentLog } from "../../src/log.ts";
import {
	createStoreReceiptBook,
	type WakingReceiptBook,
} from "../../src/receipt/store-receipt-book.ts";
import { dropRuleKey } from "../../src/stage/drop-key.ts";
import { createIdMaker } from "../../src/stage/new-id.ts";
import { createFsStore } from "../../src/stage/stores/fs-store.ts";
import { stageDrop } from "../../src/trigger/stage-drop.ts";

export interface FolderDrops {
	receipts: WakingReceiptBook;
	/** `name` is what follows `drop/acme/`; the id of the file's load. */
	drop(name: string, bytes: Uint8Array): Promise<string>;
}

export async function openFolderDrops(folder: string): Promise<FolderDrops> {
	const store = await createFsStore({ folder: join(folder, "objects"), fsync: false });
	const receipts = createStoreReceiptBook({ store, clock });
	const rule = { tables: ["*.*"], modes: ["append", "create"] };
	await store.put(dropRuleKey("acme"), new TextEncoder().encode(JSON.stringify(rule)));
	const deps = {
		store,
		dropStore: store,
		receipts,
		clock,
		log: silentLog,
		limits: defaultLimits,
		newId: createIdMaker(clock),
		send: async () => {},
	};
	return {
		receipts,
		async drop(name, bytes) {
			const { key, etag } = (await store.put(`drop/acme/${name}`, bytes))!;
			const outcome = await stageDrop(deps, {
				bucket: "inbox",
				key,
				etag: etag.replaceAll('"', ""),
				version: null,
				sequencer: null,
			});
			if (outcome.kind !== "load") throw new Error(outcome.why);
			return outcome.loadId;
		},
	};
}
