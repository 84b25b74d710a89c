/** The key of this tab, and the calls made with it. The key is in `sessionStorage`: it ends with the tab. */
import { createIngestClient, type IngestClient } from "../client/ingest-client.ts";
import type { Problem } from "../flow.ts";

const keyName = "duckdock.key";

export interface TableInfo {
	schema: string;
	table: string;
	columns: { name: string; type: string; nullable: boolean }[];
	rows: number;
}

export interface Session {
	client: IngestClient;
	/** A page of the API; throws an Error that says the problem. */
	get<T>(path: string): Promise<T>;
}

export const savedKey = () => sessionStorage.getItem(keyName);
export const forgetKey = () => sessionStorage.removeItem(keyName);
export const saveKey = (key: string) => sessionStorage.setItem(keyName, key);

export function openSession(key: string): Session {
	return {
		client: createIngestClient({ url: location.origin, key }),
		async get(path) {
			const response = await fetch(path, { headers: { Authorization: `Bearer ${key}` } });
			if (response.ok) return response.json();
			const problem = (await response.json().catch(() => null)) as Problem | null;
			throw new Error(
				problem === null ? `${response.status}` : `${problem.title}: ${problem.detail}`,
			);
		},
	};
}

/** `schema.table` as paths and parameters take it. */
export function tablePath({ schema, table }: { schema: string; table: string }): string {
	const quoted = (name: string) => (/[."]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name);
	return `${quoted(schema)}.${quoted(table)}`;
}
