/** The loader as `all.node.ts` starts it: its configuration is the one argument, as JSON. */
import "./young-generation.node.ts";
import process from "node:process";
import { type LoaderConfig, runLoader } from "./run-loader.node.ts";

await runLoader(JSON.parse(process.argv[2] ?? "null") as LoaderConfig);
