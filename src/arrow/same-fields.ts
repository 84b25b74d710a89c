/**
 * Which fields hold the same values: same types and shapes, whatever their metadata,
 * nullability and dictionaries. Names count where they are part of the value: of
 * struct fields and union members, but not of a map's key and value.
 */
import type { Field } from "./types.ts";

/** Types of two fields and of all below them; their own names don't count. */
export function sameShape(a: Field, b: Field): boolean {
	// Both come from `readType`, which writes members in one order.
	if (JSON.stringify(a.type) !== JSON.stringify(b.type)) return false;
	if (a.children.length !== b.children.length) return false;
	if (a.type.kind === "map") {
		return a.children[0]!.children.every((child, i) =>
			sameShape(child, b.children[0]!.children[i]!),
		);
	}
	const named = a.type.kind === "struct" || a.type.kind === "union";
	return a.children.every((child, i) => {
		const other = b.children[i]!;
		return (!named || child.name === other.name) && sameShape(child, other);
	});
}
