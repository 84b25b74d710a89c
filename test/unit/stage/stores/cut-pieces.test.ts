import { expect, it } from "vitest";
import { lend } from "../../../../src/stage/lent-bytes.ts";
import { cutPieces } from "../../../../src/stage/stores/cut-pieces.ts";

it("pieces are of one size and memory of their own, and what was lent goes back", async () => {
	let n = 0;
	let back = 0;
	const body = new ReadableStream<Uint8Array>({
		pull(controller) {
			if (n === 7) return controller.close();
			const memory = new Uint8Array(100).fill(n++);
			// Whoever gets it back uses it again.
			lend(memory, () => {
				back++;
				memory.fill(255);
			});
			controller.enqueue(memory);
		},
	});
	const pieces: Uint8Array[] = [];
	for await (const piece of cutPieces(body, 256)) pieces.push(piece);
	expect(pieces.map(({ length }) => length)).toEqual([256, 256, 188]);
	expect(back).toBe(7);
	expect([...new Set(Buffer.concat(pieces))]).toEqual([0, 1, 2, 3, 4, 5, 6]);
});
