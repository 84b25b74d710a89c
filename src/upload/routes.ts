/**
 * Every route of the service, in one table. What isn't in it isn't there; a test
 * walks it and fails for one that touches a tenant's data without a right.
 */
import { openapiRoute } from "./openapi.ts";
import type { Route } from "./route.ts";
import { appendUpload } from "./routes/append-upload.ts";
import { completeUpload } from "./routes/complete-upload.ts";
import { createUpload } from "./routes/create-upload.ts";
import { deleteUpload } from "./routes/delete-upload.ts";
import { healthz } from "./routes/healthz.ts";
import { ingest } from "./routes/ingest.ts";
import { listLoads } from "./routes/list-loads.ts";
import { listTables } from "./routes/list-tables.ts";
import { pages } from "./routes/pages.ts";
import { presignParts } from "./routes/presign-parts.ts";
import { putPart } from "./routes/put-part.ts";
import { readLoad } from "./routes/read-load.ts";
import { readMetrics } from "./routes/read-metrics.ts";
import { readTable } from "./routes/read-table.ts";
import { readUpload } from "./routes/read-upload.ts";
import { readyz } from "./routes/readyz.ts";
import { replayLoad } from "./routes/replay-load.ts";

const described: readonly Route[] = [
	ingest,
	createUpload,
	presignParts,
	putPart,
	completeUpload,
	appendUpload,
	readUpload,
	deleteUpload,
	readLoad,
	listLoads,
	replayLoad,
	listTables,
	readTable,
	healthz,
	readyz,
	readMetrics,
	...pages,
];

export const routes: readonly Route[] = [...described, openapiRoute(described)];
