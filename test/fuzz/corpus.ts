/** What mutations start from: other writers' files where they are here, and streams of the grammar. */

import { readFileSync } from "node:fs";
import { fixturePath, fixturesAreHere, readIndex } from "../conformance/fixtures.ts";
import { grammarStream, smallBatchStream } from "./grammar.ts";
import { type MappedMessage, mapMessages } from "./ipc-map.ts";
import { createPrng } from "./prng.ts";

export interface Seed {
	name: string;
	bytes: Uint8Array<ArrayBuffer>;
	messages: MappedMessage[];
	/** Many batches of few rows, which are joined where they lie. */
	hasSmallBatches: boolean;
}

/** Larger ones would make a run of megabytes where kilobytes find the same. */
const maxSeedBytes = 96 * 1024;
const grammarSeeds = 400;
const smallBatchSeeds = 300;

/** `withFixtures` false: the same corpus on every machine. */
export function readCorpus(withFixtures = fixturesAreHere()): Seed[] {
	const seeds: Seed[] = [];
	const add = (name: string, bytes: Uint8Array<ArrayBuffer>, hasSmallBatches = false) =>
		seeds.push({ name, bytes, messages: mapMessages(bytes), hasSmallBatches });
	for (let i = 0; i < grammarSeeds; i++) {
		add(`grammar ${i}`, grammarStream(createPrng(0x5eed, i)).slice());
	}
	for (let i = 0; i < smallBatchSeeds; i++) {
		add(`small batches ${i}`, smallBatchStream(createPrng(0x5eed5, i)).slice(), true);
	}
	if (!withFixtures) return seeds;
	for (const row of readIndex()) {
		if (/^(expected values|description|reject \(Feather)/.test(row.expect)) continue;
		const bytes = new Uint8Array(readFileSync(fixturePath(row)));
		if (bytes.length <= maxSeedBytes) add(row.path, bytes);
	}
	return seeds;
}
