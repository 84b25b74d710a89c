/**
 * Object keys as paths of a file system, and back.
 *
 * Any key of up to 1,024 bytes gets a path of its own, also where the file system
 * takes `A` for `a`, has names of at most 255 bytes, or gives `.` and `..` a
 * meaning; and what a person looks for stays readable:
 *
 *   uploads/acme/01JDX…/parts/00001   uploads/acme/01JDX…/parts/00001.o
 *   uploads/acme/01JDX…/upload.json   uploads/acme/01JDX…/upload.json
 *
 * - Bytes other than `a-z 0-9 _ - . ~ = , + @` are `%xx`; so is every capital letter,
 *   but for those of an id at a segment's start, which stays as it is. Its
 *   lower-case twin is escaped in its first letter.
 * - A folder's name has no dot, a file's has one (`.o` is appended where the
 *   segment has none), so `a` and `a/b` can both be objects.
 * - An empty segment is `%_`. A segment of over 200 characters goes on in a
 *   folder: `{200 characters}%~/{the rest}`.
 */

const encoder = new TextEncoder();
const idForm = /^[0-7][0-9A-HJKMNP-TV-Z]{25}(\.[a-z0-9]*)*$/;
const lowerIdForm = /^[0-7][0-9a-hjkmnp-tv-z]{25}(\.[a-z0-9]*)*$/;
const plain = /^[a-z0-9_\-.~=,+@]$/;
const maxNameChars = 200;
/** Ends the name of a folder in which the segment goes on. */
export const continued = "%~";

/** Relative path of an object, `/`-separated. */
export function pathOfKey(key: string): string {
	const segments = key.split("/");
	const last = segments.pop() as string;
	return [...segments.map(folderName), fileName(last)].flatMap(split).join("/");
}

/** The folders that every key with this prefix of whole segments lies in. */
export function pathOfFolder(segments: string[]): string {
	return segments.map(folderName).flatMap(split).join("/");
}

/** The segment whose folder has this name (all its pieces joined). */
export function segmentOfFolder(name: string): string {
	return decode(name);
}

export function segmentOfFile(name: string): string {
	return decode(name.endsWith(".o") ? name.slice(0, -2) : name);
}

function folderName(segment: string): string {
	return encode(segment).replaceAll(".", "%2e");
}

function fileName(segment: string): string {
	let name = encode(segment);
	if (name.endsWith(".o") || name.endsWith(".")) name = name.replaceAll(".", "%2e");
	return name.includes(".") ? name : `${name}.o`;
}

function encode(segment: string): string {
	if (segment === "") return "%_";
	if (idForm.test(segment)) return segment;
	let name = "";
	let twin = lowerIdForm.test(segment);
	for (const character of segment) {
		const escapes = !plain.test(character) || (twin && /[a-z]/.test(character));
		if (!escapes) {
			name += character;
			continue;
		}
		twin = false;
		for (const byte of encoder.encode(character)) name += `%${hex(byte)}`;
	}
	return name;
}

function decode(name: string): string {
	if (name === "%_") return "";
	return name.includes("%") ? decodeURIComponent(name) : name;
}

function split(name: string): string[] {
	const pieces: string[] = [];
	let rest = name;
	while (rest.length > maxNameChars) {
		pieces.push(rest.slice(0, maxNameChars) + continued);
		rest = rest.slice(maxNameChars);
	}
	return [...pieces, rest];
}

const hex = (byte: number) => byte.toString(16).padStart(2, "0");
