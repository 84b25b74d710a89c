/**
 * What a bucket's message asks for, done up to the jobs: files of `drop/` are staged,
 * finished uploads are named. Loading is the loader's.
 */
import type { ReplayJob } from "../flow.ts";
import { readS3Message, type S3Places } from "./s3-event.ts";
import { type DropDeps, stageDrop } from "./stage-drop.ts";

/** The loads to run. `bad_request` for what is no message: it belongs to the dead letters. */
export async function takeNotices(
	deps: DropDeps,
	places: S3Places,
	body: string,
): Promise<ReplayJob[]> {
	const jobs: ReplayJob[] = [];
	for (const notice of readS3Message(body, places)) {
		if (notice.kind === "load") jobs.push(notice.job);
		else if (notice.kind === "nothing") deps.log.info("a notice asks for nothing", notice);
		else {
			const outcome = await stageDrop(deps, notice.object);
			const { bucket, key } = notice.object;
			deps.log.info("a file under drop/", { bucket, key, ...outcome });
		}
	}
	return jobs;
}
