/** `duckdock doctor`: tries every part for real and says what is wrong and how to mend it. */
import type { Command } from "commander";
import { asIngestError } from "../../errors.ts";
import { type CommandContext, defineCommand } from "../command.ts";
import { exitCodes } from "../exit-codes.ts";

interface CheckResult {
	name: string;
	ok: boolean;
	detail: string;
	/** Null where nothing is to mend. */
	fix: string | null;
}

export function doctorCommand({ deps, outcome }: CommandContext): Command {
	return defineCommand("doctor", "test addon, store and target and say how to mend what is wrong", [
		"doctor",
		"doctor --target 'md:{tenant}'",
	])
		.option("--target <target>", "a target in place of DUCKDOCK_TARGET")
		.action(async (flags: { target?: string }) => {
			const checks: CheckResult[] = [];
			let told: string | null = null;
			for (const { name, fix, run } of deps.doctorChecks(flags.target)) {
				try {
					checks.push({ name, ok: true, detail: await run(), fix: null });
				} catch (error) {
					const { message } =
						error instanceof Error && error.name === "ConfigError" ? error : asIngestError(error);
					// What stands in the way of several is told once.
					const again = message === told;
					const detail = again ? "not tried: see the configuration above" : message;
					checks.push({ name, ok: false, detail, fix: again ? "mend the configuration" : fix });
					if (name === "configuration") told = message;
				}
			}
			const ok = checks.every((check) => check.ok);
			const lines = checks.flatMap((check) => [
				`${check.ok ? "ok  " : "FAIL"} ${check.name}: ${check.detail}`,
				...(check.fix === null ? [] : [`     to mend: ${check.fix}`]),
			]);
			outcome.result = {
				json: { ok, checks },
				text: lines.join("\n"),
				exitCode: ok ? exitCodes.fine : exitCodes.unavailable,
			};
		});
}
