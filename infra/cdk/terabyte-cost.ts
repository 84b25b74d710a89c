/**
 * What a terabyte costs on its way through the stack, in dollars, by the list prices of
 * us-east-1 as known when this was written (2026-11-30; nobody asked AWS). README has the
 * numbers, a test compares them.
 *
 * https://aws.amazon.com/s3/pricing/ https://aws.amazon.com/lambda/pricing/
 */

import { loaderDiskGib, loaderMemoryMb, noncurrentDays } from "./sizes.ts";

const listPrice = {
	perPut: 0.005 / 1_000,
	perGet: 0.0004 / 1_000,
	perGbMonth: 0.023,
	perLambdaGbSecond: 0.0000166667,
	perLambdaDiskGbSecond: 0.0000000309,
};

const terabyte = 1e12;
const partBytes = 8 * 1024 * 1024;
/** The part, and the object that holds its digest. */
const putsPerPart = 2;
const loaderBytesPerSecond = 100e6;
const daysOfMonth = 30;
/** Of Lambda's disk, 512 MiB are free of charge. */
const freeDiskGib = 0.5;

export function terabyteCost() {
	const parts = terabyte / partBytes;
	const seconds = terabyte / loaderBytesPerSecond;
	// A bucket with versions keeps what was removed until its rule runs, at the end of the day after.
	const days = noncurrentDays + 1;
	const items = {
		puts: parts * putsPerPart * listPrice.perPut,
		gets: parts * listPrice.perGet,
		storage: (terabyte / 1e9) * listPrice.perGbMonth * (days / daysOfMonth),
		loader:
			seconds *
			((loaderMemoryMb / 1_024) * listPrice.perLambdaGbSecond +
				(loaderDiskGib - freeDiskGib) * listPrice.perLambdaDiskGbSecond),
	};
	const total = Object.values(items).reduce((sum, item) => sum + item, 0);
	return { parts, seconds, days, items, total };
}
