/**
 * What `doctor` tries, in the order in which things depend on each other: Node, the
 * configuration, the addon by a whole load into a file of its own, the object store
 * by its laws, the target by a whole load in a dry run.
 */
import type { ObjectStore } from "../stage/object-store.ts";
import type { DoctorCheck } from "./cli-deps.ts";

export interface DoctorDeps {
	nodeVersion: string;
	/** Throws what is wrong with the environment; returns what is odd but usable. */
	checkConfig(): string[];
	/** Loads a few rows into a new DuckDB file and returns the engine's name. */
	loadSample(): Promise<string>;
	openStore(): Promise<ObjectStore>;
	/** A dry run into the target, or into the one given in its place; returns what it reached. */
	tryTarget(target: string | undefined): Promise<string>;
}

/** Type stripping, which runs these sources, is on by default from here on. */
const leastNodeMajor = 24;

export function createDoctorChecks(deps: DoctorDeps, target: string | undefined): DoctorCheck[] {
	return [
		{
			name: "node",
			fix: `run with Node ${leastNodeMajor} or newer; npm scripts find the one that npm ci installs`,
			async run() {
				const major = Number(/^v(\d+)/.exec(deps.nodeVersion)?.[1]);
				if (!(major >= leastNodeMajor)) throw new Error(`this is ${deps.nodeVersion}`);
				return deps.nodeVersion;
			},
		},
		{
			name: "configuration",
			fix: "set the variables that are named; README has their table",
			async run() {
				const odd = deps.checkConfig();
				return odd.length === 0
					? "every variable can be used"
					: `usable; not known: ${odd.join(", ")}`;
			},
		},
		{
			name: "addon",
			fix: "install a C++ compiler (g++ or clang++) and run npm ci again; the message says what failed",
			run: async () => `a load into a new file worked on ${await deps.loadSample()}`,
		},
		{
			name: "store",
			fix: "look at DUCKDOCK_STORE, at its permissions and, for S3, at AWS_* and DUCKDOCK_S3_ENDPOINT",
			async run() {
				const store = await deps.openStore();
				await tryStore(store);
				return `${store.description}: create-only, read, range, list and delete work`;
			},
		},
		{
			name: "target",
			fix: "look at DUCKDOCK_TARGET: is its folder writable, its file held by no other program, its token set?",
			run: () => deps.tryTarget(target),
		},
	];
}

const racers = 8;

/** The laws that a load's exactly-once rests on, with real objects that are removed again. */
export async function tryStore(store: ObjectStore): Promise<void> {
	const key = `doctor/${crypto.randomUUID()}`;
	const bytes = new TextEncoder().encode("quack, said the doctor");
	try {
		const puts = await Promise.all(
			Array.from({ length: racers }, () => store.put(key, bytes, { ifAbsent: true })),
		);
		const winners = puts.filter((info) => info !== null).length;
		if (winners !== 1)
			throw new Error(`of ${racers} create-only puts at once ${winners} succeeded, not 1`);
		const whole = await store.get(key);
		if (whole === null) throw new Error("an object that was put can't be read");
		const text = await textOf(whole.body);
		if (text !== "quack, said the doctor")
			throw new Error(`an object reads back as ${JSON.stringify(text)}`);
		const part = await store.get(key, { range: { offset: 7, length: 4 } });
		const slice = part === null ? null : await textOf(part.body);
		if (slice !== "said") throw new Error(`bytes 7 to 10 read back as ${JSON.stringify(slice)}`);
		const listed: string[] = [];
		for await (const info of store.list(key)) listed.push(info.key);
		if (listed.length !== 1)
			throw new Error(`a listing shows ${listed.length} objects where one is`);
	} finally {
		await store.delete(key);
	}
	if ((await store.head(key)) !== null)
		throw new Error("an object that was deleted is still there");
}

function textOf(body: ReadableStream<Uint8Array>): Promise<string> {
	return new Response(body as ReadableStream<Uint8Array<ArrayBuffer>>).text();
}
