/** Whether parts come to us or go straight to the store. */
import type { AppDeps } from "./app-deps.ts";

export function partsMode(deps: Pick<AppDeps, "directParts" | "store">): "proxy" | "direct" {
	return deps.directParts && deps.store.presignPut ? "direct" : "proxy";
}
