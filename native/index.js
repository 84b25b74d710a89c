/**
 * Record batches in, rows of a DuckDB view out: the JavaScript half of the addon.
 *
 * A batch is flattened here into one Float64Array and one list of distinct ArrayBuffers, so that a
 * batch of any number of columns crosses into native code in one call.
 */
import process from "node:process";
import { binding } from "./binding.js";

/** A batch's plan, written by one push at a time: pushes don't interleave. Layout: src/record_batch.h. */
let plan = new Float64Array(4096);
let planLength = 0;
/** Distinct ArrayBuffers of the batch being pushed, and their positions. */
let buffers = [];
const positions = new Map();
let lastBuffer = null;
let lastPosition = -1;
/** Buffers that are pinned may not move; those that are copied at once may. */
let pins = true;

const shared = "a batch's buffers must lie in ArrayBuffers, not in SharedArrayBuffers";
const resizable =
	"a batch's buffer lies in a resizable ArrayBuffer, which can't be pinned: copy it, or use copy: true";

function positionOf(buffer) {
	if (buffer === lastBuffer) return lastPosition;
	let position = positions.get(buffer);
	if (position === undefined) {
		if (typeof SharedArrayBuffer !== "undefined" && buffer instanceof SharedArrayBuffer)
			throw new TypeError(shared);
		if (pins && buffer.resizable) throw new TypeError(resizable);
		position = buffers.push(buffer) - 1;
		positions.set(buffer, position);
	}
	lastBuffer = buffer;
	lastPosition = position;
	return position;
}

function flatten(array) {
	const { buffers: views, children, dictionary } = array;
	let at = planLength;
	planLength += 5 + 3 * views.length;
	if (planLength > plan.length) {
		const larger = new Float64Array(planLength * 2);
		larger.set(plan.subarray(0, at));
		plan = larger;
	}
	plan[at++] = array.length;
	plan[at++] = array.nullCount;
	plan[at++] = views.length;
	plan[at++] = children.length;
	plan[at++] = dictionary === null ? 0 : 1;
	for (let i = 0; i < views.length; i++) {
		const view = views[i];
		if (view === null) {
			plan[at++] = -1;
			plan[at++] = 0;
			plan[at++] = 0;
		} else {
			plan[at++] = positionOf(view.buffer);
			plan[at++] = view.byteOffset;
			plan[at++] = view.byteLength;
		}
	}
	for (let i = 0; i < children.length; i++) flatten(children[i]);
	if (dictionary !== null) flatten(dictionary);
}

/** The External of @duckdb/node-bindings, which node-api's DuckDBConnection keeps in a property. */
function externalOf(connection) {
	return connection?.connection ?? connection;
}

/**
 * Streams with pushes that wait for room, by what tells them to look again. Held strongly: DuckDB will make room,
 * and then they go on. One set an environment, however many copies of this module it has.
 */
binding.waiting ??= watch(new Set());
const { waiting } = binding;

/** Who is told that its batch is read by nobody any more, by the number that the batch was pushed with. */
binding.owners ??= { byNumber: new Map(), last: 0 };
const { owners } = binding;

function tellOwners() {
	const released = binding.released();
	if (released === undefined) return;
	for (const number of released) {
		const tell = owners.byNumber.get(number);
		owners.byNumber.delete(number);
		tell?.();
	}
}

function watch(settlers) {
	binding.onWake(() => {
		tellOwners();
		for (const settle of settlers) settle();
	});
	// Where threads of DuckDB wait for a batch, Node would wait for them at exit, and both for ever.
	process.on("exit", () => binding.failAll("the process ends"));
	return settlers;
}

const defaultCapacityBatches = 8;
const defaultCapacityBytes = 256 * 1024 * 1024;

export class RecordBatchStream {
	#handle;
	#copy;
	/** Resolvers of those who wait for room. */
	#waiters = [];
	#settle = () => {
		if (this.#waiters.length === 0 || !binding.room(this.#handle)) return;
		waiting.delete(this.#settle);
		const isOpen = binding.isOpen(this.#handle);
		const waiters = this.#waiters;
		this.#waiters = [];
		for (const resolve of waiters) resolve(isOpen);
	};
	#counts = new Float64Array(6);

	constructor(fields, options = {}) {
		const {
			capacityBatches = defaultCapacityBatches,
			capacityBytes = defaultCapacityBytes,
			copy = false,
		} = options;
		this.#handle = binding.create(fields, capacityBatches, capacityBytes);
		this.#copy = copy;
	}

	scan(connection, viewName) {
		binding.scan(this.#handle, externalOf(connection), viewName);
	}

	refusal(connection) {
		return binding.refusal(this.#handle, externalOf(connection)) ?? null;
	}

	push(batch, onReleased) {
		let result;
		const number = onReleased === undefined ? 0 : ++owners.last;
		try {
			pins = !this.#copy;
			for (const column of batch.columns) flatten(column);
			const { length } = batch;
			result = binding.push(this.#handle, length, plan, planLength, buffers, this.#copy, number);
			if (number > 0) owners.byNumber.set(number, onReleased);
		} finally {
			planLength = 0;
			buffers = [];
			positions.clear();
			lastBuffer = null;
		}
		// At the latest here: who makes the next batch may want the memory.
		tellOwners();
		if (result === 0) return resolvedTrue;
		if (result === 2) return resolvedFalse;
		return this.ready();
	}

	ready() {
		if (binding.room(this.#handle))
			return binding.isOpen(this.#handle) ? resolvedTrue : resolvedFalse;
		waiting.add(this.#settle);
		return new Promise((resolve) => this.#waiters.push(resolve));
	}

	end() {
		binding.end(this.#handle);
		this.#settle();
	}

	fail(message) {
		binding.fail(this.#handle, message);
		this.#settle();
	}

	close() {
		binding.fail(this.#handle, "the stream was closed before its end");
		this.#settle();
	}

	[Symbol.dispose]() {
		this.close();
	}

	get isOpen() {
		return binding.isOpen(this.#handle);
	}

	get counts() {
		const numbers = this.#counts;
		binding.counts(this.#handle, numbers);
		return {
			rowsHandedOver: numbers[0],
			batchesHandedOver: numbers[1],
			bytesHandedOver: numbers[2],
			batchesQueued: numbers[3],
			batchesHeld: numbers[4],
			bytesAlive: numbers[5],
		};
	}
}

const resolvedTrue = Promise.resolve(true);
const resolvedFalse = Promise.resolve(false);

/** The path of the libduckdb that scans. */
export function libraryPath() {
	return binding.libraryPath();
}
