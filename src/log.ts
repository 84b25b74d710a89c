/**
 * Structured log lines, one JSON object each. Never a secret: keys are named by
 * their id, bodies by their size.
 */
export const logLevels = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof logLevels)[number];
export type LogFields = Record<string, unknown>;

export interface Log {
	debug(message: string, fields?: LogFields): void;
	info(message: string, fields?: LogFields): void;
	warn(message: string, fields?: LogFields): void;
	error(message: string, fields?: LogFields): void;
	/** A log whose lines all carry `fields` too. */
	with(fields: LogFields): Log;
}

/** `write` takes one line without its newline. */
export function createLog(
	level: LogLevel,
	write: (line: string) => void,
	fields: LogFields = {},
): Log {
	const threshold = logLevels.indexOf(level);
	const at = (lineLevel: LogLevel) => (message: string, more?: LogFields) => {
		if (logLevels.indexOf(lineLevel) < threshold) return;
		write(
			JSON.stringify({
				time: new Date().toISOString(),
				level: lineLevel,
				message,
				...fields,
				...more,
			}),
		);
	};
	return {
		debug: at("debug"),
		info: at("info"),
		warn: at("warn"),
		error: at("error"),
		with: (more) => createLog(level, write, { ...fields, ...more }),
	};
}

export const silentLog: Log = createLog("error", () => {});
