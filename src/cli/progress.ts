/**
 * How far a command is, on standard error: a bar on a terminal, now and then a
 * plain line elsewhere.
 */
import { SingleBar } from "cli-progress";
import type { Clock } from "../clock.ts";
import { toDisplayBytes, toDisplayCount, toDisplayDuration } from "./display.ts";

export interface Progress {
	/** `note` stands behind the numbers: parts in flight, a state. */
	update(value: number, note: string): void;
	/** A line of its own, above the bar. */
	line(text: string): void;
	stop(): void;
}

export interface ProgressOptions {
	stderr: NodeJS.WritableStream & { isTTY?: boolean };
	clock: Clock;
	/** Null: unknown; then only value and rate are shown. */
	total: number | null;
	label: string;
	unit: "bytes" | "rows";
}

const plainLineEveryMs = 2_000;
/** As often as the bar is drawn; values come by the batch. */
const barEveryMs = 50;

export function createProgress(options: ProgressOptions): Progress {
	const started = options.clock.now();
	const amount = (value: number) =>
		options.unit === "bytes" ? toDisplayBytes(value) : `${toDisplayCount(value)} rows`;
	const words = (value: number, note: string) => {
		const elapsedMs = Math.max(1, options.clock.now() - started);
		const perSecond = (value / elapsedMs) * 1000;
		const left = options.total === null ? null : options.total - value;
		const known = options.total === null ? "" : ` of ${amount(options.total)}`;
		const eta =
			left !== null && left > 0 && perSecond > 0
				? `, ${toDisplayDuration((left / perSecond) * 1000)} left`
				: "";
		return `${amount(value)}${known}, ${amount(perSecond)}/s${eta}${note === "" ? "" : `, ${note}`}`;
	};
	return options.stderr.isTTY
		? terminalProgress(options, words)
		: plainProgress(options, words, started);
}

function terminalProgress(
	options: ProgressOptions,
	words: (value: number, note: string) => string,
): Progress {
	const bar = new SingleBar({
		format:
			options.total === null
				? `${options.label} {words}`
				: `${options.label} {bar} {percentage}% {words}`,
		stream: options.stderr,
		barsize: 24,
		hideCursor: true,
		clearOnComplete: true,
		linewrap: false,
		barCompleteChar: "█",
		barIncompleteChar: "░",
	});
	bar.start(options.total ?? 1, 0, { words: "" });
	let value = 0;
	let note = "";
	let shown = 0;
	const show = () => {
		shown = options.clock.now();
		bar.update(Math.min(value, options.total ?? 0), { words: words(value, note) });
	};
	return {
		update(next, nextNote) {
			value = next;
			note = nextNote;
			if (options.clock.now() - shown >= barEveryMs) show();
		},
		line(text) {
			options.stderr.write(`\r\x1b[K${text}\n`);
			show();
		},
		stop() {
			show();
			bar.stop();
		},
	};
}

function plainProgress(
	options: ProgressOptions,
	words: (value: number, note: string) => string,
	started: number,
): Progress {
	let last = started;
	return {
		update(value, note) {
			const now = options.clock.now();
			if (now - last < plainLineEveryMs) return;
			last = now;
			options.stderr.write(`${options.label}: ${words(value, note)}\n`);
		},
		line: (text) => void options.stderr.write(`${text}\n`),
		stop() {},
	};
}
