/** What the loader's engine gets of a configuration and of AWS's environment. */
import process from "node:process";
import type { Config } from "../src/config.ts";
import type { EngineOptions } from "../src/insert/duckdb/lockdown.ts";

export function engineOptions({ engine }: Pick<Config, "engine">): EngineOptions {
	const { memoryLimit, threads, extensionFolder, lakeData } = engine;
	const { env } = process;
	const keyId = env.AWS_ACCESS_KEY_ID;
	const secret = env.AWS_SECRET_ACCESS_KEY;
	const sessionToken = env.AWS_SESSION_TOKEN;
	const endpoint = env.DUCKDOCK_S3_ENDPOINT;
	const s3 = keyId &&
		secret && {
			keyId,
			secret,
			region: env.AWS_REGION ?? "us-east-1",
			...(sessionToken ? { sessionToken } : {}),
			...(endpoint ? { endpoint } : {}),
		};
	return {
		...(memoryLimit === null ? {} : { memoryLimit }),
		...(threads === null ? {} : { threads }),
		...(extensionFolder === null ? {} : { extensionFolder }),
		...(lakeData === null ? {} : { lakeData }),
		...(s3 ? { s3 } : {}),
	};
}
