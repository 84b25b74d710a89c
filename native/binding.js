/** The compiled half of the package, loaded once per environment. */
import { createRequire } from "node:module";
import process from "node:process";

const require = createRequire(import.meta.url);

/** DUCKDB_ARROW_SCAN_ADDON names another build, such as one with sanitizers. */
function load() {
	try {
		return require(process.env.DUCKDB_ARROW_SCAN_ADDON || "./build/duckdb-arrow-scan.node");
	} catch (cause) {
		throw new Error(
			`The addon duckdb-arrow-scan can't be loaded: ${cause.message}. Build it with \`node build.mjs\` in its folder; it says what is missing.`,
			{ cause },
		);
	}
}

/** The functions of src/addon.cc. */
export const binding = load();
