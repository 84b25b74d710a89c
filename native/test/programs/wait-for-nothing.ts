/** A push that waits for a reader who never comes doesn't keep the process alive. */
import { connect, open, rowsOf } from "./shared.ts";

const connection = await connect();
const stream = open(connection, "incoming", { capacityBatches: 1 });
void stream.push(rowsOf(10)).then(() => console.log("never"));
console.log("waiting");
