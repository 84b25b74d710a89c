/** The field that run-end encoded values have once they are plain: named and described as the encoded one. */

import type { Field, Metadata } from "../types.ts";

/** Nulls only where both the column and its values may have them. */
export function unfoldedField(encoded: Field, values: Field): Field {
	const metadata: Metadata = new Map([...values.metadata, ...encoded.metadata]);
	const nullable = encoded.nullable && values.nullable;
	return { ...values, name: encoded.name, nullable, metadata };
}
