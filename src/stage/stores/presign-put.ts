/**
 * URLs that take one PUT of bytes announced before, so that a client sends parts
 * straight to the bucket. Signed are the host, the length, the SHA-256 and that
 * nothing may be there yet; whether the server holds the client to the SHA-256 is
 * the server's matter: the loader checks what arrived against the manifest.
 *
 * aws4fetch signs in every runtime.
 * https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html
 */

import { AwsClient } from "aws4fetch";

export type PresignPut = (
	/** With the store's prefix. */
	key: string,
	options: { size: number; sha256: string; expiresInSeconds: number },
) => Promise<{ url: string; headers: Record<string, string> }>;

export interface PresignOptions {
	credentials(): Promise<{
		accessKeyId: string;
		secretAccessKey: string;
		sessionToken?: string;
	}>;
	region: string;
	/** Of the bucket: `https://bucket.s3.region.amazonaws.com` or `https://endpoint/bucket`; no slash at the end. */
	bucketUrl: string;
}

export function createPresignPut(options: PresignOptions): PresignPut {
	return async (key, { size, sha256, expiresInSeconds }) => {
		const client = new AwsClient({
			...(await options.credentials()),
			region: options.region,
			service: "s3",
			retries: 0,
		});
		const path = key.split("/").map(encodeSegment).join("/");
		const url = new URL(`${options.bucketUrl}/${path}`);
		url.searchParams.set("X-Amz-Expires", String(expiresInSeconds));
		const headers = {
			"content-length": String(size),
			"x-amz-checksum-sha256": base64OfHex(sha256),
		};
		const signed = await client.sign(url.toString(), {
			method: "PUT",
			headers,
			aws: { signQuery: true, allHeaders: true },
		});
		return { url: signed.url, headers };
	};
}

/** RFC 3986, as S3 signs it: all but the unreserved characters. */
function encodeSegment(segment: string): string {
	return encodeURIComponent(segment).replace(
		/[!'()*]/g,
		(mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`,
	);
}

function base64OfHex(hex: string): string {
	const bytes = hex.match(/../g) ?? [];
	return btoa(String.fromCharCode(...bytes.map((byte) => Number.parseInt(byte, 16))));
}
