/** Ends by itself with batches queued, and others held by a result that nobody reads to its end. */
import process from "node:process";
import { connect, open, rowsOf } from "./shared.ts";

const connection = await connect();
const queued = open(connection, "queued");
await queued.push(rowsOf(1000));
const held = open(connection, "held", { capacityBatches: 1000 });
for (let i = 0; i < 200; i++) await held.push(rowsOf(5000));
held.end();
const result = await connection.stream("SELECT * FROM held");
await result.fetchChunk();
console.log(`queued ${queued.counts.batchesQueued}, held ${held.counts.batchesHeld > 0}`);
process.exitCode = 7;
