/**
 * `npm run infra:synth`: CloudFormation templates under infra/cdk.out, without network
 * or account. `npm run infra:synth -- md:{tenant}` names another target.
 */
import { join, resolve } from "node:path";
import process from "node:process";
import { App } from "aws-cdk-lib";
import { bundleLambdas } from "../bundle.ts";
import { DuckdockStack } from "./duckdock-stack.ts";

const root = resolve(import.meta.dirname, "../..");
const { upload, replay } = await bundleLambdas();
const app = new App({ outdir: join(root, "infra/cdk.out"), analyticsReporting: false });
new DuckdockStack(app, "Duckdock", {
	target: process.argv[2] ?? "md:{tenant}",
	bundles: { upload: upload.folder, replay: replay.folder },
});
app.synth();
console.log("the templates are in infra/cdk.out");
