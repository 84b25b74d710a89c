/**
 * Which uploads a loader is asked to load while they arrive: in the HTTP process.
 *
 * In: parts as they become durable. Out: messages to the loader. An upload is begun once, when more
 * than `fromBytes` of it are durable with its first part among them, and no more than `maxActive` at a
 * time: small uploads share transactions when they are complete, which costs them less.
 */

import type { ManifestPart, ReplayJob } from "../flow.ts";
import { earlyFromBytes, maxEarlyLoads } from "../limits.ts";
import type { StagedNotices } from "../stage/stage-upload.ts";
import { type EarlyOutcome, earlyOutcomes, type ToLoader } from "./loader-link.ts";

export interface EarlyUploadsOptions {
	/** False: there is no loader that hears it. */
	send(message: ToLoader): boolean;
	mayBegin?(job: ReplayJob): boolean;
	fromBytes?: number | undefined;
	maxActive?: number;
}

export interface EarlyUploads extends StagedNotices {
	/** Its job goes to the loader: what has not begun by now won't. */
	completed(job: ReplayJob): void;
	ended(job: ReplayJob, outcome: EarlyOutcome): void;
	/** The loader is gone; what it had begun won't begin again. */
	loaderDied(): ReplayJob[];
	/** Attempts that are open. */
	active(): number;
	/** Attempts by what became of them. */
	counts(): Readonly<Record<EarlyOutcome, number>>;
}

interface Upload {
	job: ReplayJob;
	state: "waits" | "active" | "over";
	/** Until it begins. */
	parts: ManifestPart[];
	bytes: number;
}

/** Uploads that are remembered, the least recent forgotten first. */
const maxRemembered = 256;
/** An upload of so many parts before it begins is none of large parts. */
const maxWaitingParts = 1_000;

export function createEarlyUploads(options: EarlyUploadsOptions): EarlyUploads {
	const { send, fromBytes = earlyFromBytes, maxActive = maxEarlyLoads } = options;
	const uploads = new Map<string, Upload>();
	const active = new Map<string, Upload>();
	const counts = Object.fromEntries(earlyOutcomes.map((outcome) => [outcome, 0])) as Record<
		EarlyOutcome,
		number
	>;
	const nameOf = ({ tenant, upload_id }: ReplayJob) => `${tenant}/${upload_id}`;

	function over(upload: Upload): void {
		upload.state = "over";
		upload.parts = [];
		active.delete(nameOf(upload.job));
	}

	function remember(name: string, upload: Upload): void {
		uploads.delete(name);
		uploads.set(name, upload);
		for (const [oldest, { state }] of uploads) {
			if (uploads.size <= maxRemembered) return;
			if (state !== "active") uploads.delete(oldest);
		}
	}

	return {
		part(tenant, id, part) {
			const job = { tenant, upload_id: id };
			const name = nameOf(job);
			const upload = uploads.get(name) ?? { job, state: "waits", parts: [], bytes: 0 };
			remember(name, upload);
			if (upload.state === "active") send({ type: "part", job, part });
			if (upload.state !== "waits") return;
			upload.parts.push(part);
			upload.bytes += part.size;
			if (upload.parts.length > maxWaitingParts) return over(upload);
			if (upload.bytes <= fromBytes || active.size >= maxActive) return;
			if (options.mayBegin?.(job) === false) return;
			if (!upload.parts.some(({ n }) => n === 1)) return;
			if (!send({ type: "early", job, parts: upload.parts })) return;
			upload.state = "active";
			upload.parts = [];
			active.set(name, upload);
		},
		gone(tenant, id) {
			const job = { tenant, upload_id: id };
			const upload = uploads.get(nameOf(job));
			if (upload?.state === "active") send({ type: "gone", job });
			uploads.delete(nameOf(job));
		},
		completed(job) {
			const upload = uploads.get(nameOf(job));
			if (upload !== undefined && upload.state !== "active") uploads.delete(nameOf(job));
		},
		ended(job, outcome) {
			counts[outcome]++;
			const upload = active.get(nameOf(job));
			if (upload !== undefined) over(upload);
		},
		loaderDied() {
			const died = [...active.values()];
			for (const upload of died) over(upload);
			counts["loader died"] += died.length;
			return died.map(({ job }) => job);
		},
		active: () => active.size,
		counts: () => counts,
	};
}
