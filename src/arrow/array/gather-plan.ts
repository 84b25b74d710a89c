/**
 * In: a schema's fields. Out: their nodes in the order of a record batch, each with what its buffers
 * hold; null where a type is among them whose arrays can't be joined by what metadata and offsets
 * tell (views, unions, run ends).
 *
 * https://arrow.apache.org/docs/format/Columnar.html#buffer-listing-for-each-layout
 */

import type { Field } from "../types.ts";
import { fixedWidth } from "./fixed-width.ts";
import type { OffsetWidth } from "./offsets.ts";

/** What follows validity: nothing, not even that; bits; values side by side; offsets and data; offsets and a child; children in step. */
export type NodeLayout =
	| { kind: "null" }
	| { kind: "bits" }
	| { kind: "fixed"; width: number }
	| { kind: "strings"; width: OffsetWidth }
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

export function gatherPlan(fields: readonly Field[]): GatherPlan | null {
	const plan: GatherPlan = { columns: [], nodes: [], bufferCount: 0 };
	for (const field of fields) {
		const column = addNode(plan, field, field.name, -1, 1);
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
): GatherNode | null {
	const layout = layoutOf(field);
	if (layout === null) return null;
	const index = plan.nodes.length;
	const firstBuffer = plan.bufferCount;
	const node = { field, path, layout, index, firstBuffer, parent, perParent, children: [] };
	plan.nodes.push(node);
	plan.bufferCount += bufferCounts[layout.kind];
	// The children of an encoded field are its dictionary's.
	if (field.dictionary !== null) return node;
	const each = layout.kind === "lists" ? null : elementsOf(field);
	const children: GatherNode[] = node.children;
	for (const child of field.children) {
		const inner = field.type.kind === "struct" ? `${path}.${child.name}` : `${path}[]`;
		const made = addNode(plan, child, inner, index, each);
		if (made === null) return null;
		children.push(made);
	}
	return node;
}

const bufferCounts = { null: 0, bits: 2, fixed: 2, strings: 3, lists: 2, parent: 1 } as const;

function elementsOf({ type }: Field): number {
	return type.kind === "fixed_size_list" ? type.size : 1;
}

function layoutOf({ type, dictionary }: Field): NodeLayout | null {
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
		case "list_view":
		case "large_list_view":
		case "union":
		case "run_end_encoded":
			return null;
		default:
			return { kind: "fixed", width: fixedWidth(type) };
	}
}
