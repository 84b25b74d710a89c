/** Memory for new offsets and positions, refused where their 32 bits don't reach. */

import { IngestError } from "../../errors.ts";
import { int32View, int64View } from "../array/buffer-views.ts";
import type { OffsetWidth } from "../array/offsets.ts";
import type { Codecs } from "../codecs.ts";

const maxOffset = 0x7fff_ffff;

/** Room for positions; elements of one array beyond 2^31 are refused, as offsets and positions hold no more. */
export function elementPositions(count: number, codecs: Codecs): Int32Array {
	if (count > maxOffset) {
		throw new IngestError(
			"too_large",
			`${count} elements in one batch, at most ${maxOffset} are taken`,
		);
	}
	return int32View(codecs.allocate(count * 4), count);
}

export interface OffsetWriter {
	bytes: Uint8Array;
	set(index: number, offset: number): void;
}

/** `length + 1` offsets, the first set to 0. */
export function newOffsets(
	length: number,
	width: OffsetWidth,
	total: number,
	codecs: Codecs,
): OffsetWriter {
	const bytes = codecs.allocate((length + 1) * width);
	if (width === 4) {
		if (total > maxOffset) {
			throw new IngestError(
				"too_large",
				`${total} elements in one batch, at most ${maxOffset} are taken`,
			);
		}
		const offsets = int32View(bytes, length + 1);
		offsets[0] = 0;
		return {
			bytes,
			set: (index, offset) => {
				offsets[index] = offset;
			},
		};
	}
	const offsets = int64View(bytes, length + 1);
	offsets[0] = 0n;
	return {
		bytes,
		set: (index, offset) => {
			offsets[index] = BigInt(offset);
		},
	};
}
