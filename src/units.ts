/** Sizes and spans of time as people write them: `8MiB`, `95 MB`, `1048576`; `24h`, `90d`, `500ms`. */

const KiB = 1024;
const byteUnits: Record<string, number> = {
	"": 1,
	b: 1,
	kb: 1000,
	mb: 1000 ** 2,
	gb: 1000 ** 3,
	tb: 1000 ** 4,
	kib: KiB,
	mib: KiB ** 2,
	gib: KiB ** 3,
	tib: KiB ** 4,
	k: KiB,
	m: KiB ** 2,
	g: KiB ** 3,
	t: KiB ** 4,
};

const msUnits: Record<string, number> = {
	ms: 1,
	s: 1000,
	m: 60_000,
	min: 60_000,
	h: 3_600_000,
	d: 86_400_000,
	w: 7 * 86_400_000,
};

/** Whole bytes, or null for text that is no size. A single letter is binary: `8m` is 8 MiB. */
export function parseBytes(text: string): number | null {
	return parseQuantity(text, byteUnits);
}

/** Whole milliseconds, or null for text that is no span; a bare number has no unit and is none. */
export function parseDurationMs(text: string): number | null {
	return parseQuantity(text, msUnits);
}

function parseQuantity(text: string, units: Record<string, number>): number | null {
	const match = /^\s*(\d{1,15}(?:\.\d{1,9})?)\s*([a-z]*)\s*$/i.exec(text);
	if (!match) return null;
	const unit = match[2]!.toLowerCase();
	const factor = Object.hasOwn(units, unit) ? units[unit]! : null;
	if (factor === null) return null;
	const value = Math.round(Number(match[1]) * factor);
	return Number.isSafeInteger(value) ? value : null;
}
