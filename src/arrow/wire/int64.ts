/** 64-bit integers of metadata as numbers: BigInt costs more than the framing around it. */
import { IngestError } from "../../errors.ts";

/** The signed 64-bit integer at `at`; `invalid_arrow` unless it is within 0 … 2^53 - 1. `what` names it. */
export function readSize(view: DataView, at: number, what: string): number {
	const value = view.getInt32(at + 4, true) * 0x1_0000_0000 + view.getUint32(at, true);
	if (value < 0 || value > Number.MAX_SAFE_INTEGER) {
		throw new IngestError("invalid_arrow", `${what} is ${view.getBigInt64(at, true)}`);
	}
	return value;
}
