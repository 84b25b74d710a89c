import { spawnSync } from "node:child_process";
import { Argument, Command, Option } from "commander";
import { describe, expect, it } from "vitest";
import { completionScript, completionsOf } from "../../../src/cli/completion-scripts.ts";

const program = new Command("duckdock")
	.addCommand(
		new Command("load")
			.argument("<file...>")
			.addOption(new Option("--mode <mode>").choices(["append", "create"])),
	)
	.addCommand(new Command("keys").addCommand(new Command("create").option("--tenant <name>")))
	.addCommand(new Command("completion").addArgument(new Argument("<shell>").choices(["bash"])));
const completions = completionsOf(program);

function complete(...words: string[]): string[] {
	const script = `${completionScript("bash", completions)}
COMP_WORDS=("$@"); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); COMPREPLY=(); _duckdock; printf '%s\\n' "\${COMPREPLY[@]}"`;
	const ran = spawnSync("bash", ["-c", script, "bash", "duckdock", ...words], {
		encoding: "utf8",
		cwd: "/",
	});
	expect(ran.stderr).toBe("");
	return ran.stdout.split("\n").filter((word) => word !== "");
}

describe("the completion of bash", () => {
	it("knows commands, subcommands, flags and their values", () => {
		expect(complete("")).toEqual(["load", "keys", "completion", "--help"]);
		expect(complete("keys", "")).toEqual(["create", "--help"]);
		expect(complete("keys", "create", "--t")).toEqual(["--tenant"]);
		expect(complete("load", "--mode", "")).toEqual(["append", "create"]);
		expect(complete("completion", "b")).toEqual(["bash"]);
	});

	it("gives files to a command that takes them, and to no other", () => {
		expect(complete("load", "/et")).toEqual(["/etc"]);
		expect(complete("keys", "/et")).toEqual([]);
	});
});

describe("the completion of fish", () => {
	it("has a line for each word", () => {
		const lines = completionScript("fish", completions).split("\n");
		expect(lines).toContain(
			'complete -c duckdock -n "__fish_seen_subcommand_from load" -l mode -xa "append create"',
		);
	});
});
