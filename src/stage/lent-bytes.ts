/**
 * Memory that goes round: who makes chunks of a body lends it, who is done with a chunk gives it back.
 *
 * A gigabyte in chunks of their own is a gigabyte that is allocated, touched for the first time and
 * collected. Giving back is a service and no duty: a chunk that nobody gives back is garbage like any
 * other. Each byte of a loan comes back once, in views of any size; then its lender may use it again.
 */

const loans = new WeakMap<ArrayBufferLike, { out: number; takeBack(): void }>();

/** `takeBack` is called when all bytes of `memory`, which fills its buffer, were given back. */
export function lend(memory: Uint8Array, takeBack: () => void): void {
	loans.set(memory.buffer, { out: memory.byteLength, takeBack });
}

/** Nobody reads these bytes any more. Does nothing for bytes that nobody lent. */
export function giveBack(bytes: Uint8Array): void {
	const loan = loans.get(bytes.buffer);
	if (loan === undefined) return;
	loan.out -= bytes.byteLength;
	if (loan.out > 0) return;
	loans.delete(bytes.buffer);
	loan.takeBack();
}
