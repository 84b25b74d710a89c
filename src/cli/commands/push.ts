/**
 * `duckdock push FILE… --url URL --table T`: parts over HTTP, then the receipt.
 *
 * The order: find the files → an unfinished upload of the same push, or a new one →
 * parts → complete → wait. What broke off is gone on with when the same files are
 * pushed again, until the load has ended.
 */
import type { Command } from "commander";
import { ProblemError } from "../../client/client-errors.ts";
import type { IngestOptions, IngestProgress } from "../../client/ingest-client.ts";
import type { Receipt } from "../../flow.ts";
import { InterruptedError } from "../cli-errors.ts";
import {
	addLoadOptions,
	addServiceOptions,
	byteSize,
	type CommandContext,
	connect,
	defineCommand,
	type LoadFlags,
	wholeNumber,
} from "../command.ts";
import { findFiles, readFiles } from "../input-files.ts";
import { receiptText } from "../print.ts";
import { createProgress, type Progress } from "../progress.ts";
import { createResumeBook, type ResumeBook } from "../resume-book.ts";

interface PushFlags extends LoadFlags {
	url?: string;
	key?: string;
	partSize?: number;
	parallel: number;
	resume?: string;
}

export function pushCommand({ deps, outcome }: CommandContext): Command {
	const command = defineCommand(
		"push",
		"upload Arrow files in parts to a service and wait for the receipt",
		[
			"push sales.arrow --url https://ingest.example.com --table sales",
			"push part-*.arrow --table raw.sales --mode append --parallel 8",
		],
	).argument("<file...>", "Arrow IPC streams or files; - is standard input; several are one load");
	addLoadOptions(addServiceOptions(command));
	command
		.option(
			"--part-size <size>",
			"bytes a part, such as 8MiB; default: what the service asks for",
			byteSize,
		)
		.option("--parallel <n>", "parts in flight", wholeNumber(1), 4)
		.option(
			"--resume <id>",
			"go on with this upload; without it the same files go on by themselves",
		);
	return command.action(async (paths: string[], flags: PushFlags) => {
		const files = await findFiles(paths);
		let progress: Progress | null = null;
		const { url, client } = connect(deps, flags, (event) => {
			const line = `${event.request}: ${event.reason}; again in ${(event.delayMs / 1000).toFixed(1)} s`;
			if (progress) progress.line(line);
			else deps.stderr.write(`${line}\n`);
		});
		const book = files.every((file) => file.identity !== null)
			? createResumeBook(deps.stateFolder, [
					url,
					flags.key ?? deps.key,
					parametersOf(flags),
					flags.partSize ?? null,
					files.map((file) => file.identity),
				])
			: null;

		const push = async (resume: { id: string; partSize?: number } | null): Promise<Receipt> => {
			const { size, bytes } = await readFiles(files, deps.stdin);
			progress = createProgress({
				stderr: deps.stderr,
				clock: deps.clock,
				total: size,
				label: "push",
				unit: "bytes",
			});
			const partSize = flags.partSize ?? resume?.partSize;
			const options: IngestOptions = {
				...parametersOf(flags),
				parallel: flags.parallel,
				signal: deps.signal,
				...(partSize === undefined ? {} : { partSize }),
				...(size === null ? {} : { size }),
				...(resume === null ? {} : { resume: resume.id }),
				onUpload: (upload) =>
					book?.keep({ upload_id: upload.upload_id, part_size: upload.part_size }),
				onProgress: (now) => progress?.update(now.bytesDone, noteOf(now)),
			};
			try {
				return await client.ingest(flags.table, bytes, options);
			} finally {
				progress.stop();
			}
		};

		const receipt = await pushOrResume(flags, book, push);
		outcome.result = { json: receipt, text: receiptText(receipt) };
	});
}

/** An id that was asked for must be there; one that was only remembered may have gone. */
async function pushOrResume(
	flags: PushFlags,
	book: ResumeBook | null,
	push: (resume: { id: string; partSize?: number } | null) => Promise<Receipt>,
): Promise<Receipt> {
	const known = flags.resume === undefined ? ((await book?.find()) ?? null) : null;
	try {
		let receipt: Receipt;
		if (flags.resume !== undefined) receipt = await push({ id: flags.resume });
		else if (known === null) receipt = await push(null);
		else {
			try {
				receipt = await push({ id: known.upload_id, partSize: known.part_size });
			} catch (error) {
				if (!isGone(error)) throw error;
				receipt = await push(null);
			}
		}
		await book?.forget();
		return receipt;
	} catch (error) {
		// The service's last word: the same push again is a new one.
		if (error instanceof ProblemError && !error.problem.retryable) await book?.forget();
		if (error instanceof InterruptedError && book !== null) {
			throw new InterruptedError(`${error.message}; push the same files again to go on`);
		}
		throw error;
	}
}

function isGone(error: unknown): boolean {
	return (
		error instanceof ProblemError &&
		(error.problem.code === "upload_not_found" || error.problem.code === "upload_expired")
	);
}

function parametersOf(flags: LoadFlags): IngestOptions {
	return {
		mode: flags.mode,
		on_extra_columns: flags.onExtraColumns,
		...(flags.dryRun ? { dry_run: true } : {}),
		...(flags.requireEos ? { require_eos: true } : {}),
		...(flags.rows === undefined ? {} : { rows: flags.rows }),
		...(flags.idempotencyKey === undefined ? {} : { idempotency_key: flags.idempotencyKey }),
	};
}

function noteOf(progress: IngestProgress): string {
	if (progress.step === "load") return `load ${progress.load ?? ""}`.trim();
	const skipped = progress.bytesSkipped > 0 ? ", resumed" : "";
	return `${progress.partsInFlight} parts in flight${skipped}`;
}
