/**
 * When a tenant's database is attached, and when it is let go.
 *
 * Handles (`open` to `close`) say that there may be work soon, operations (`use`)
 * that there is some. The file is attached by the first operation that needs it
 * and let go `lingerMs` after the last handle was closed, so that a burst of loads
 * opens it once and other programs get at it soon after. Opening and closing
 * never overlap. An instance that has met an error of the disk or of DuckDB itself
 * is closed when its last operation ends, before the next one: DuckDB gives such
 * instances up, and blocks that a load has written and rolled back are free again
 * only when the file is opened anew. Loaders of other processes have their turns
 * (`file-turns.ts`).
 */

import type { DuckDBConnection } from "@duckdb/node-api";
import { type Clock, noLongerNeeded } from "../../clock.ts";
import { type AttachedDatabase, type AttachOptions, attachDatabase } from "./attached-database.ts";
import { isInstanceLost } from "./engine-errors.ts";
import type { EngineThreads } from "./engine-threads.ts";
import { createFileTurns, type FileTurnsOptions } from "./file-turns.ts";
import type { KnownDatabase } from "./known-database.ts";
import { type TenantTarget, targetExists } from "./targets.ts";

export type Work<T> = (
	connection: DuckDBConnection,
	known: KnownDatabase,
	threads: EngineThreads,
) => Promise<T>;

export interface TenantDatabase {
	readonly target: TenantTarget;
	retain(): void;
	release(): void;
	/**
	 * Runs `work` on a connection that nobody else uses meanwhile. `whenMissing: "skip"`: null where no
	 * file is there yet. A connection on which nothing failed is used again.
	 */
	use<T>(signal: AbortSignal, whenMissing: "create", work: Work<T>): Promise<T>;
	use<T>(signal: AbortSignal, whenMissing: "skip", work: Work<T>): Promise<T | null>;
	/** A load's turn with the file: what runs between this and the call of its result is not torn apart. */
	takeTurn(signal: AbortSignal): Promise<() => void>;
	/** Lets go at once, when the operations that run have ended. */
	close(): Promise<void>;
}

export function createTenantDatabase(
	target: TenantTarget,
	options: AttachOptions & { lingerMs: number } & Pick<FileTurnsOptions, "turnMs" | "giveWay">,
): TenantDatabase {
	const { clock, lingerMs, turnMs, giveWay } = options;
	let handles = 0;
	let operations = 0;
	let attached: AttachedDatabase | null = null;
	let lost = false;
	let lingering: AbortController | null = null;
	let closing = false;
	/** Those who wait for the last operation to end. */
	const idlers: (() => void)[] = [];
	/** Attaching and closing, one after the other. */
	let turn: Promise<unknown> = Promise.resolve();
	const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
		const mine = turn.then(work, work);
		turn = mine.catch(() => {});
		return mine;
	};

	const lastOperation = async () => {
		while (operations > 0) await new Promise<void>((resolve) => idlers.push(resolve));
	};

	const detach = async () => {
		if (attached === null) return;
		const closing = attached;
		attached = null;
		lost = false;
		turns.gone();
		await closing.close();
	};

	const letGo = () =>
		inTurn(async () => {
			if (operations === 0) await detach();
		});

	const turns = createFileTurns({
		clock,
		turnMs,
		giveWay,
		letGo: (pause) =>
			inTurn(async () => {
				await lastOperation();
				await detach();
				await pause();
			}),
	});

	const linger = async () => {
		lingering?.abort(noLongerNeeded);
		const mine = new AbortController();
		lingering = mine;
		if (await slept(clock, lingerMs, mine.signal)) await letGo();
	};

	const idle = () => {
		if (operations > 0) return;
		for (const wake of idlers.splice(0)) wake();
		if (attached === null || closing) return;
		if (lost) void letGo();
		else if (handles === 0) void linger();
	};

	const enter = (signal: AbortSignal, create: boolean, since = clock.now()) =>
		inTurn(async () => {
			signal.throwIfAborted();
			if (lost && attached !== null) {
				await lastOperation();
				await detach();
			}
			if (attached === null) {
				if (!create && !targetExists(target)) return null;
				// Those who came while another waited for the file have waited as long.
				attached = await attachDatabase(target, options, signal, since);
				turns.attached(attached.file);
			}
			operations++;
			return attached;
		});

	return {
		target,
		retain() {
			handles++;
			lingering?.abort(noLongerNeeded);
			lingering = null;
		},
		release() {
			handles--;
			idle();
		},
		async use<T>(signal: AbortSignal, whenMissing: "create" | "skip", work: Work<T>): Promise<T> {
			const database = await enter(signal, whenMissing === "create");
			if (database === null) return null as T;
			let connection: DuckDBConnection | null = null;
			try {
				connection = await database.connect();
				const result = await work(connection, database.known, database.threads);
				database.giveBack(connection);
				connection = null;
				return result;
			} catch (error) {
				if (isInstanceLost(error)) lost = true;
				throw error;
			} finally {
				connection?.closeSync();
				operations--;
				idle();
			}
		},
		takeTurn: (signal) => turns.take(signal),
		async close() {
			lingering?.abort(noLongerNeeded);
			closing = true;
			await lastOperation();
			await letGo();
			closing = false;
		},
	};
}

/** False when it was woken early. */
async function slept(clock: Clock, ms: number, signal: AbortSignal): Promise<boolean> {
	try {
		await clock.sleep(ms, signal);
		return true;
	} catch {
		return false;
	}
}
