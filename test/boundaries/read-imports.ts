/**
 * Source text in, its import specifiers out, and from many files a graph.
 *
 * Works on text with comments and string contents told apart, so that a
 * specifier in a comment or a template does not count. TypeScript 7 has no
 * JavaScript API to ask.
 */
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, relative, resolve } from "node:path";

export interface ImportSpecifier {
	specifier: string;
	/** `import type` and `export type`: erased before anything runs. */
	typeOnly: boolean;
}

/** The text without comments; strings and templates stay as they are. */
export function stripComments(source: string): string {
	return source.replace(
		/("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`)|\/\/[^\n]*|\/\*[\s\S]*?\*\//g,
		(match, literal: string | undefined) => literal ?? match.replace(/[^\n]/g, " "),
	);
}

/** Every specifier of static, re-exporting and dynamic imports. */
export function importSpecifiers(source: string): ImportSpecifier[] {
	const text = stripComments(source);
	const found: ImportSpecifier[] = [];
	const statements =
		/(?:^|[;\n}])\s*(?:import|export)\s+(type\s+)?(?:[\w*{}\s,$]+?\s+from\s*)?["']([^"'\n]+)["']/g;
	for (const [, type, specifier] of text.matchAll(statements)) {
		found.push({ specifier: specifier!, typeOnly: type !== undefined });
	}
	for (const [, specifier] of text.matchAll(
		/\b(?:import|require|resolve)\(\s*["']([^"'\n]+)["']/g,
	)) {
		found.push({ specifier: specifier!, typeOnly: false });
	}
	return found;
}

export interface SourceFile {
	/** From the repository's root, with `/`. */
	path: string;
	text: string;
	/** Packages and `node:` modules as written; files as paths from the root. */
	imports: { target: string; typeOnly: boolean; specifier: string; file: boolean }[];
}

export const root = resolve(import.meta.dirname, "../..");

/** Every TypeScript file under the folders, tests of packages left out. */
export function readSources(...folders: string[]): SourceFile[] {
	return folders
		.flatMap((folder) => globSync(`${folder}/**/*.{ts,mts,js,mjs}`, { cwd: root }))
		.filter((path) => !path.startsWith("native/test/") && !path.includes("node_modules"))
		.sort()
		.map((path) => readSource(path));
}

function readSource(path: string): SourceFile {
	const text = readFileSync(resolve(root, path), "utf8");
	const imports = importSpecifiers(text).map(({ specifier, typeOnly }) => {
		const file = specifier.startsWith(".");
		const target = file
			? relative(root, resolve(root, dirname(path), specifier)).replaceAll("\\", "/")
			: specifier;
		return { target, typeOnly, specifier, file };
	});
	return { path, text, imports };
}

/** Files that are imported and aren't there. */
export function missingTargets(files: readonly SourceFile[]): string[] {
	return files.flatMap((file) =>
		file.imports
			.filter((one) => one.file && !existsSync(resolve(root, one.target)))
			.map((one) => `${file.path} imports ${one.specifier}, which is not there`),
	);
}

/** Everything `start` reaches, with the path that leads there; packages are leaves. */
export function reach(
	files: readonly SourceFile[],
	start: string,
	options: { types: boolean },
): Map<string, string[]> {
	const byPath = new Map(files.map((file) => [file.path, file]));
	const found = new Map<string, string[]>([[start, [start]]]);
	const queue = [start];
	for (let path = queue.shift(); path !== undefined; path = queue.shift()) {
		for (const { target, typeOnly } of byPath.get(path)?.imports ?? []) {
			if ((typeOnly && !options.types) || found.has(target)) continue;
			found.set(target, [...found.get(path)!, target]);
			queue.push(target);
		}
	}
	return found;
}

/** Each cycle of what runs, once, as the list of its files; types that know each other are no cycle. */
export function cycles(files: readonly SourceFile[]): string[][] {
	const byPath = new Map(files.map((file) => [file.path, file]));
	const done = new Set<string>();
	const found: string[][] = [];
	const visit = (path: string, trail: string[]) => {
		const at = trail.indexOf(path);
		if (at !== -1) found.push([...trail.slice(at), path]);
		if (at !== -1 || done.has(path)) return;
		for (const { target, typeOnly } of byPath.get(path)?.imports ?? []) {
			if (!typeOnly && byPath.has(target)) visit(target, [...trail, path]);
		}
		done.add(path);
	};
	for (const file of files) visit(file.path, []);
	return found;
}
