/**
 * Whether a part still fits into its upload, without counting the upload each time.
 *
 * An upload's bytes are at most what was counted last and what was put since; only
 * where that is too much they are counted anew. What other processes put is not seen
 * here: completing is where the sum is exact.
 */
import { IngestError } from "../errors.ts";

export interface UploadSizes {
	/** `too_large`. `countOthers`: the bytes of all parts but this one. */
	assertFits(part: {
		uploadId: string;
		size: number;
		limit: number;
		countOthers(): Promise<number>;
	}): Promise<void>;
	/** A part of so many bytes is there. */
	add(uploadId: string, size: number): void;
}

const maxRemembered = 10_000;

export function createUploadSizes(): UploadSizes {
	const most = new Map<string, number>();
	const remember = (uploadId: string, bytes: number) => {
		most.delete(uploadId);
		if (most.size >= maxRemembered) most.delete(most.keys().next().value as string);
		most.set(uploadId, bytes);
	};
	return {
		async assertFits({ uploadId, size, limit, countOthers }) {
			if ((most.get(uploadId) ?? 0) + size <= limit) return;
			const others = await countOthers();
			remember(uploadId, others);
			if (others + size > limit) throw uploadTooLarge(others + size, limit);
		},
		add: (uploadId, size) => remember(uploadId, (most.get(uploadId) ?? 0) + size),
	};
}

export const uploadTooLarge = (bytes: number, limit: number) =>
	new IngestError("too_large", `the upload's parts make ${bytes} bytes, ${limit} are taken`, {
		extra: { limit_bytes: limit },
	});
