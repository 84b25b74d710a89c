/** An S3 store with credentials and region as AWS tools find them (`AWS_*`, profiles, roles). */
import { S3Client } from "@aws-sdk/client-s3";
import type { StoreConfig } from "../src/config.ts";
import type { ObjectStore } from "../src/stage/object-store.ts";
import { createPresignPut } from "../src/stage/stores/presign-put.ts";
import { createS3Store } from "../src/stage/stores/s3-store.ts";

/** Tries of one request, with the client's own jittered back-off between them. */
const maxAttempts = 5;
const connectionTimeoutMs = 5_000;
/** Without a byte from the server; a whole transfer may take longer. */
const socketTimeoutMs = 30_000;

export async function openS3Store(
	config: Extract<StoreConfig, { kind: "s3" }>,
): Promise<ObjectStore> {
	const { bucket, prefix, endpoint } = config;
	const client = new S3Client({
		maxAttempts,
		requestHandler: { connectionTimeout: connectionTimeoutMs, socketTimeout: socketTimeoutMs },
		// Checksums are ours to give; servers other than AWS stumble over the defaults.
		requestChecksumCalculation: "WHEN_REQUIRED",
		responseChecksumValidation: "WHEN_REQUIRED",
		// Beyond AWS a bucket is a folder of the endpoint, and a region only part of the signature.
		...(endpoint === null ? {} : { endpoint, forcePathStyle: true }),
		...(endpoint === null || process.env.AWS_REGION ? {} : { region: "us-east-1" }),
	});
	const region = await client.config.region();
	return createS3Store({
		client,
		bucket,
		prefix: prefix === "" ? "" : `${prefix}/`,
		presignPut: createPresignPut({
			credentials: async () => client.config.credentials(),
			region,
			bucketUrl:
				endpoint === null
					? `https://${bucket}.s3.${region}.amazonaws.com`
					: `${endpoint.replace(/\/+$/, "")}/${bucket}`,
		}),
	});
}
