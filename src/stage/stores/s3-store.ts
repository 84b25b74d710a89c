/**
 * The object store on S3 and what speaks its API: AWS, R2, SeaweedFS and others.
 * https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-requests.html
 *
 * A body of any length goes in pieces of `pieceBytes`: one piece is one PutObject,
 * more are a multipart upload, a few pieces in flight at a time. Each piece is in
 * memory while it is sent, so the client can send it again; its CRC32 goes along
 * and the server refuses what arrives otherwise. What the body fails on before its
 * end, or a digest that differs, aborts the upload: nothing is stored.
 *
 * `ifAbsent` and `ifMatch` become If-None-Match and If-Match. 412 is the condition
 * that doesn't hold; 409 is a race that is still open and is asked again.
 */

import { createHash, type Hash } from "node:crypto";
import type { Readable } from "node:stream";
import { crc32 } from "node:zlib";
import {
	AbortMultipartUploadCommand,
	CompleteMultipartUploadCommand,
	CreateMultipartUploadCommand,
	DeleteObjectCommand,
	GetObjectCommand,
	HeadObjectCommand,
	ListObjectsV2Command,
	PutObjectCommand,
	type S3Client,
	UploadPartCommand,
} from "@aws-sdk/client-s3";
import { IngestError } from "../../errors.ts";
import type { GetOptions, ObjectInfo, ObjectStore, PutOptions } from "../object-store.ts";
import { cutPieces } from "./cut-pieces.ts";
import { nodeBody } from "./node-body.ts";
import type { PresignPut } from "./presign-put.ts";

export interface S3StoreOptions {
	/** The caller's, with region, credentials and endpoint. */
	client: S3Client;
	bucket: string;
	/** Before every key, with its slash; empty: none. */
	prefix?: string;
	presignPut?: PresignPut;
	/** At least 5 MiB: S3's smallest part but the last. */
	pieceBytes?: number;
}

const MiB = 1024 * 1024;
const defaultPieceBytes = 8 * MiB;
/** https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html */
const maxPieces = 10_000;
const piecesInFlight = 3;
/** 409 says that another write of the same key is under way. */
const maxRaceRounds = 8;

export function createS3Store(options: S3StoreOptions): ObjectStore {
	const { client, bucket, prefix = "", presignPut, pieceBytes = defaultPieceBytes } = options;
	const nameOf = (key: string) => ({ Bucket: bucket, Key: prefix + key });

	async function put(key: string, body: Uint8Array | ReadableStream<Uint8Array>, put: PutOptions) {
		put.signal?.throwIfAborted();
		const conditions = {
			...(put.ifAbsent ? { IfNoneMatch: "*" } : {}),
			...(put.ifMatch === undefined ? {} : { IfMatch: put.ifMatch }),
		};
		const check = checkBody(key, put);
		// Larger pieces where a known length would need more of them than there may be.
		const piece = Math.max(pieceBytes, Math.ceil((put.size ?? 0) / maxPieces));
		const pieces = body instanceof Uint8Array ? only(body) : cutPieces(body, piece);
		try {
			const first = await pieces.next();
			const second = first.done ? first : await pieces.next();
			if (first.done || second.done) {
				const bytes = first.done ? new Uint8Array(0) : first.value;
				check.update(bytes);
				check.end();
				return await putWhole(key, bytes, conditions, put.signal);
			}
			return await putPieces(key, [first.value, second.value], pieces, check, conditions, put);
		} finally {
			await pieces.return(undefined);
		}
	}

	async function putWhole(
		key: string,
		bytes: Uint8Array,
		conditions: { IfNoneMatch?: string; IfMatch?: string },
		signal: AbortSignal | undefined,
	): Promise<ObjectInfo | null> {
		const command = () =>
			new PutObjectCommand({
				...nameOf(key),
				...conditions,
				Body: bytes,
				ContentLength: bytes.length,
				ChecksumCRC32: checksum(bytes),
			});
		const stored = await conditional(() => client.send(command(), abortable(signal)));
		if (stored === null) return null;
		return infoOf(key, bytes.length, stored.ETag, new Date(), stored.VersionId);
	}

	async function putPieces(
		key: string,
		ready: Uint8Array[],
		rest: AsyncIterator<Uint8Array>,
		check: BodyCheck,
		conditions: { IfNoneMatch?: string; IfMatch?: string },
		{ signal }: PutOptions,
	): Promise<ObjectInfo | null> {
		const created = await client.send(
			new CreateMultipartUploadCommand({ ...nameOf(key), ChecksumAlgorithm: "CRC32" }),
			abortable(signal),
		);
		const upload = { ...nameOf(key), UploadId: created.UploadId! };
		const sent: Promise<{ PartNumber: number; ETag: string; ChecksumCRC32: string }>[] = [];
		try {
			for (;;) {
				const next = ready.shift() ?? (await rest.next()).value;
				if (next === undefined) break;
				signal?.throwIfAborted();
				check.update(next);
				const PartNumber = sent.length + 1;
				if (PartNumber > maxPieces) {
					throw new IngestError("too_large", `${key}: more than ${maxPieces} parts of an object`);
				}
				const part = sendPiece(upload, PartNumber, next, signal);
				part.catch(() => {});
				sent.push(part);
				if (sent.length >= piecesInFlight) await sent[sent.length - piecesInFlight];
			}
			check.end();
			const Parts = await Promise.all(sent);
			const done = await conditional(() =>
				client.send(
					new CompleteMultipartUploadCommand({
						...upload,
						...conditions,
						MultipartUpload: { Parts },
					}),
					abortable(signal),
				),
			);
			if (done !== null) return infoOf(key, check.size(), done.ETag, new Date(), done.VersionId);
		} catch (error) {
			await Promise.allSettled(sent);
			await client.send(new AbortMultipartUploadCommand(upload)).catch(() => {});
			throw error;
		}
		await client.send(new AbortMultipartUploadCommand(upload)).catch(() => {});
		return null;
	}

	async function sendPiece(
		upload: { Bucket: string; Key: string; UploadId: string },
		PartNumber: number,
		bytes: Uint8Array,
		signal: AbortSignal | undefined,
	) {
		const ChecksumCRC32 = checksum(bytes);
		const part = await client.send(
			new UploadPartCommand({
				...upload,
				PartNumber,
				Body: bytes,
				ContentLength: bytes.length,
				ChecksumCRC32,
			}),
			abortable(signal),
		);
		return { PartNumber, ETag: part.ETag!, ChecksumCRC32 };
	}

	async function head(key: string): Promise<ObjectInfo | null> {
		const found = await orNull(() => client.send(new HeadObjectCommand(nameOf(key))));
		if (found === null) return null;
		return infoOf(key, found.ContentLength!, found.ETag, found.LastModified, found.VersionId);
	}

	async function get(key: string, { range, ifMatch, signal }: GetOptions) {
		const { offset = 0, length } = range ?? {};
		const last = length === undefined ? "" : offset + length - 1;
		// 416: the range begins at the end or past it; an empty range cannot be said at all.
		const found =
			length === 0
				? "no bytes"
				: await orNull(() =>
						client.send(
							new GetObjectCommand({
								...nameOf(key),
								...(offset === 0 && length === undefined
									? {}
									: { Range: `bytes=${offset}-${last}` }),
								...(ifMatch === undefined ? {} : { IfMatch: ifMatch }),
							}),
							abortable(signal),
						),
					).catch((error) => {
						if (statusOf(error) === 416) return "no bytes" as const;
						throw error;
					});
		if (found === null) return null;
		if (found === "no bytes") {
			const info = await head(key);
			if (info === null || (ifMatch !== undefined && info.etag !== ifMatch)) return null;
			return { info, body: new Blob([]).stream() as ReadableStream<Uint8Array> };
		}
		const size = Number(found.ContentRange?.split("/")[1] ?? found.ContentLength);
		const object = nodeBody(found.Body as unknown as Readable);
		return {
			info: infoOf(key, size, found.ETag, found.LastModified, found.VersionId),
			// A stream is made for those who want one.
			get body() {
				return object.body;
			},
			readInto: (target: Uint8Array) => asStoreError(key, () => object.readInto(target)),
		};
	}

	return {
		description: `s3:${bucket}/${prefix}`,
		put: (key, body, options = {}) => asStoreError(key, () => put(key, body, options)),
		get: (key, options = {}) => asStoreError(key, () => get(key, options)),
		head: (key) => asStoreError(key, () => head(key)),
		delete: (key) =>
			asStoreError(key, async () => {
				await orNull(() => client.send(new DeleteObjectCommand(nameOf(key))));
			}),
		async *list(under, list = {}) {
			let after: string | undefined;
			let from = list.startAfter === undefined ? {} : { StartAfter: prefix + list.startAfter };
			do {
				const page = await asStoreError(under, () =>
					client.send(
						new ListObjectsV2Command({
							Bucket: bucket,
							Prefix: prefix + under,
							...from,
							...(after === undefined ? {} : { ContinuationToken: after }),
						}),
					),
				);
				for (const { Key, Size, ETag, LastModified } of page.Contents ?? []) {
					yield infoOf(Key!.slice(prefix.length), Size!, ETag, LastModified);
				}
				after = page.IsTruncated ? page.NextContinuationToken : undefined;
				from = {};
			} while (after !== undefined);
		},
		...(presignPut === undefined
			? {}
			: { presignPut: (key, options) => presignPut(prefix + key, options) }),
	};
}

function infoOf(
	key: string,
	size: number,
	etag: string | undefined,
	modified: Date | undefined,
	version?: string,
): ObjectInfo {
	return {
		key,
		size,
		etag: etag ?? "",
		lastModified: modified?.getTime() ?? 0,
		...(version === undefined || version === "null" ? {} : { version }),
	};
}

async function* only(bytes: Uint8Array): AsyncGenerator<Uint8Array, undefined> {
	yield bytes;
	return undefined;
}

interface BodyCheck {
	update(bytes: Uint8Array): void;
	/** Throws where size or digest are not those announced. */
	end(): void;
	size(): number;
}

function checkBody(key: string, { size, sha256 }: PutOptions): BodyCheck {
	const hash: Hash | null = sha256 === undefined ? null : createHash("sha256");
	let seen = 0;
	return {
		update(bytes) {
			seen += bytes.length;
			hash?.update(bytes);
		},
		end() {
			if (size !== undefined && size !== seen) {
				throw new IngestError(
					"truncated_stream",
					`${key}: ${size} bytes were announced, ${seen} came`,
				);
			}
			const digest = hash?.digest("hex");
			if (digest !== sha256) {
				throw new IngestError(
					"digest_mismatch",
					`${key}: SHA-256 ${sha256} expected, ${digest} came`,
				);
			}
		},
		size: () => seen,
	};
}

function checksum(bytes: Uint8Array): string {
	const value = Buffer.allocUnsafe(4);
	value.writeUInt32BE(crc32(bytes));
	return value.toString("base64");
}

const abortable = (signal: AbortSignal | undefined) =>
	signal === undefined ? {} : { abortSignal: signal };

/** Null where the condition doesn't hold; a race that is not decided yet is asked again. */
async function conditional<T>(send: () => Promise<T>): Promise<T | null> {
	for (let round = 1; ; round++) {
		try {
			return await send();
		} catch (error) {
			// 404 with If-Match: the object that it names is not there.
			if (statusOf(error) === 412 || nameOf(error) === "NoSuchKey") return null;
			if (statusOf(error) !== 409 || round === maxRaceRounds) throw error;
			await new Promise((wake) => setTimeout(wake, 20 * round * (1 + Math.random())));
		}
	}
}

/** Null for what is not there, or not with that ETag. A missing bucket is an error. */
async function orNull<T>(send: () => Promise<T>): Promise<T | null> {
	try {
		return await send();
	} catch (error) {
		if (nameOf(error) === "NoSuchBucket") throw error;
		if (statusOf(error) === 404 || statusOf(error) === 412) return null;
		throw error;
	}
}

const nameOf = (error: unknown) => (error as { name?: string } | null)?.name;
const statusOf = (error: unknown) =>
	(error as { $metadata?: { httpStatusCode?: number } } | null)?.$metadata?.httpStatusCode;

/** Refusals that trying again won't mend; all else may pass. */
const lasting = new Set([400, 401, 403, 404, 405, 501]);

async function asStoreError<T>(key: string, work: () => Promise<T>): Promise<T> {
	try {
		return await work();
	} catch (cause) {
		if (cause instanceof IngestError) throw cause;
		const status = statusOf(cause);
		// What the caller's own body or signal threw is not of the store.
		if (status === undefined && !isConnectionError(cause)) throw cause;
		const what = cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause);
		throw new IngestError(
			status !== undefined && lasting.has(status) ? "internal" : "store_unavailable",
			`${key}: the object store answered ${status ?? "nothing"}: ${what}`,
			{ cause },
		);
	}
}

function isConnectionError(error: unknown): boolean {
	const { code, name } = (error ?? {}) as { code?: string; name?: string };
	return (
		name === "TimeoutError" ||
		/^(E[A-Z]+|UND_ERR_.*)$/.test(code ?? "") ||
		name === "CredentialsProviderError"
	);
}
