/** The loader with a death of its own: what `replay.child.ts` is, between drivers that kill it. */
import process from "node:process";
import { type LoaderConfig, runLoader } from "../../functions/run-loader.node.ts";
import { createKiller } from "./killer.ts";
import { mortalQueue, mortalSink, mortalStore } from "./mortal-drivers.ts";

const config = JSON.parse(process.argv[2] ?? "null") as LoaderConfig;
const folder = process.env.CRASH_FOLDER!;
const lives = process.env.CRASH_LOADER !== "1";

await runLoader(config, ({ store, sink, queue }) => {
	if (lives) return { store, sink, queue };
	const killer = createKiller(folder, "loader");
	return {
		store: mortalStore(store, killer),
		sink: mortalSink(sink, killer),
		queue: mortalQueue(queue, killer),
	};
});
