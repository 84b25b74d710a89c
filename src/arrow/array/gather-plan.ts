/**
 * In: a schema's fields. Out: their nodes in the order of a record batch, each with what its buffers
 * hold; null where a type is among them whose arrays can't be joined by what metadata and offsets
 * tell (unions, list views, run ends).
 *
 * https://arrow.apache.org/docs/format/Columnar.html#buffer-listing-for-each-layout
 */

import type { Field } from "../types.ts";
import { fixedWidth } from "./fixed-width.ts";
import type { OffsetWidth } from "./offsets.ts";

/**
 * What follows validity: nothing, not even that; bits; values side by side; offsets and data; views and
 * their data buffers; offsets and a child; children in step.
 */
export type NodeLayout =
	| { kind: "null" }
	| { kind: "bits" }
	| { kind: "fixed"; width: number }
	| { kind: "strings"; width: OffsetWidth }
	| { kind: "views"; dataBuffers: number }
	| { kind: "lists"; width: OffsetWidth }
	| { kind: "parent" };

export interface GatherNode {
	field: Field;
	/** As `schema.ts` names it, for messages. */
	path: string;
	layout: NodeLayout;
	/** Positions among the batch's nodes and buffers. */
	index: number;
	firstBuffer: number;
	/** -1: a column. */
	parent: number;
	/** Elements for each of the parent's; null: as many as the parent's offsets say. */
	perParent: number | null;
	children: GatherNode[];
}

export interface GatherPlan {
	columns: GatherNode[];
	/** Depth first. */
	nodes: GatherNode[];
	bufferCount: number;
}

/** `variadicCounts`: data buffers of each view array, in the order of the nodes; those it does not name have none. */
export function gatherPlan(
	fields: readonly Field[],
	variadicCounts: readonly number[] = [],
): GatherPlan | null {
	const counts = variadicCounts.values();
	const plan: GatherPlan = { columns: [], nodes: [], bufferCount: 0 };
	for (const field of fields) {
		const column = addNode(plan, field, field.name, -1, 1, counts);
		if (column === null) return null;
		plan.columns.push(column);
	}
	return plan;
}

function addNode(
	plan: GatherPlan,
	field: Field,
	path: string,
	parent: number,
	perParent: number | null,
	counts: Iterator<number>,
): GatherNode | null {
	const layout = layoutOf(field, counts);
	if (layout === null) return null;
	const index = plan.nodes.length;
	const firstBuffer = plan.bufferCount;
	const node = { field, path, layout, index, firstBuffer, parent, perParent, children: [] };
	plan.nodes.push(node);
	plan.bufferCount += bufferCounts[layout.kind];
	if (layout.kind === "views") plan.bufferCount += layout.dataBuffers;
	// The children of an encoded field are its dictionary's.
	if (field.dictionary !== null) return node;
	const each = layout.kind === "lists" ? null : elementsOf(field);
	const children: GatherNode[] = node.children;
	for (const child of field.children) {
		const inner = field.type.kind === "struct" ? `${path}.${child.name}` : `${path}[]`;
		const made = addNode(plan, child, inner, index, each, counts);
		if (made === null) return null;
		children.push(made);
	}
	return node;
}

const bufferCounts = {
	null: 0,
	bits: 2,
	fixed: 2,
	strings: 3,
	views: 2,
	lists: 2,
	parent: 1,
} as const satisfies Record<NodeLayout["kind"], number>;

function elementsOf({ type }: Field): number {
	return type.kind === "fixed_size_list" ? type.size : 1;
}

function layoutOf({ type, dictionary }: Field, counts: Iterator<number>): NodeLayout | null {
	if (dictionary !== null) return { kind: "fixed", width: fixedWidth(dictionary.indexType) };
	switch (type.kind) {
		case "null":
			return { kind: "null" };
		case "bool":
			return { kind: "bits" };
		case "utf8":
		case "binary":
			return { kind: "strings", width: 4 };
		case "large_utf8":
		case "large_binary":
			return { kind: "strings", width: 8 };
		case "list":
		case "map":
			return { kind: "lists", width: 4 };
		case "large_list":
			return { kind: "lists", width: 8 };
		case "struct":
		case "fixed_size_list":
			return { kind: "parent" };
		case "utf8_view":
		case "binary_view":
			return { kind: "views", dataBuffers: counts.next().value ?? 0 };
		case "list_view":
		case "large_list_view":
		case "union":
		case "run_end_encoded":
			return null;
		default:
			return { kind: "fixed", width: fixedWidth(type) };
	}
}
