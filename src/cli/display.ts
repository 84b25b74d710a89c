/** Numbers as a person reads them. */

const units = ["B", "KiB", "MiB", "GiB", "TiB"];

export function toDisplayBytes(bytes: number): string {
	let value = bytes;
	let unit = 0;
	while (value >= 1024 && unit < units.length - 1) {
		value /= 1024;
		unit += 1;
	}
	return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

/** Digits in threes. `toLocaleString` would load the locales' data first, which takes longer than many a load. */
export function toDisplayCount(count: number): string {
	return String(Math.round(count)).replace(/\B(?=(\d{3})+$)/g, ",");
}

export function toDisplayDuration(ms: number): string {
	if (ms < 1000) return `${Math.round(ms)} ms`;
	if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`;
	const seconds = Math.round(ms / 1000);
	const minutes = Math.floor(seconds / 60);
	return minutes < 60
		? `${minutes} min ${seconds % 60} s`
		: `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
