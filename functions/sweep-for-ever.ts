/**
 * Sweeps until it is told to stop: at once, and then again and again with pauses.
 * What a sweep meets is logged and not thrown; at most a tenth of the time goes
 * into walking.
 */
import { type SweepDeps, sweep } from "../src/trigger/sweep.ts";

export interface SweepForEver extends Omit<SweepDeps, "send" | "noticeMs"> {
	/** Asked before each sweep where lost jobs go. */
	sendNow(): Promise<SweepDeps["send"]>;
	/** Between two sweeps, at least; a manifest younger than this has its notice still on the way. */
	everyMs: number;
	/** Nothing is on its way at the start: every load without a receipt is sent. */
	alone: boolean;
}

/** Resolves when the sweep that ran at the stop has ended. */
export async function sweepForEver(options: SweepForEver, stop: AbortSignal): Promise<void> {
	const { sendNow, everyMs, alone, ...deps } = options;
	const { clock, log } = deps;
	for (let noticeMs = alone ? 0 : everyMs; !stop.aborted; noticeMs = everyMs) {
		const started = clock.now();
		try {
			const result = await sweep({ ...deps, send: await sendNow(), noticeMs }, stop);
			const { removed, sent, uploads } = result;
			log.debug("swept", { uploads, sent, removed: removed.length });
		} catch (error) {
			log.warn("a sweep failed", { error: (error as Error).message });
		}
		const pauseMs = Math.max(everyMs, 9 * (clock.now() - started));
		await clock.sleep(pauseMs, stop).catch(() => {});
	}
}
