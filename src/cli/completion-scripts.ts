/** Commands as data → completion scripts of the shells. */
import type { Command } from "commander";

export const shells = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof shells)[number];

/** What may follow one command, `keys create` for example. */
export interface Completion {
	path: string;
	words: string[];
	/** Values by flag. */
	choices: Record<string, string[]>;
	takesFiles: boolean;
}

/** The command's own and those of everything below it. */
export function completionsOf(command: Command, path = ""): Completion[] {
	const choices: Record<string, string[]> = {};
	for (const { long, argChoices } of command.options) {
		if (long && argChoices) choices[long] = argChoices;
	}
	const words = [
		...command.commands.map((child) => child.name()),
		...command.registeredArguments.flatMap((argument) => argument.argChoices ?? []),
		...command.options.flatMap(({ long }) => long ?? []),
		"--help",
	];
	const takesFiles = command.registeredArguments.some((argument) => argument.name() === "file");
	return [
		{ path, words, choices, takesFiles },
		...command.commands.flatMap((child) =>
			completionsOf(child, `${path} ${child.name()}`.trimStart()),
		),
	];
}

export function completionScript(shell: Shell, completions: readonly Completion[]): string {
	if (shell === "fish") return fishScript(completions);
	const bash = bashScript(completions);
	return shell === "bash" ? bash : `autoload -U +X bashcompinit && bashcompinit\n${bash}`;
}

function bashScript(completions: readonly Completion[]): string {
	const groups = completions.filter(({ path }) => path.includes(" "));
	const parents = [...new Set(groups.map(({ path }) => path.split(" ")[0]!))];
	const give = (words: readonly string[]) =>
		`COMPREPLY=($(compgen -W "${words.join(" ")}" -- "$word"))`;
	const values = completions.flatMap(({ path, choices }) =>
		Object.entries(choices).map(
			([flag, words]) => `	"${path} ${flag}") ${give(words)}; return ;;`,
		),
	);
	const commands = completions.map(
		({ path, words, takesFiles }) =>
			`	"${path}") ${give(words)}${takesFiles ? '; COMPREPLY+=($(compgen -f -- "$word"))' : ""} ;;`,
	);
	return `_duckdock() {
	local word="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}" path=""
	((COMP_CWORD > 1)) && path="\${COMP_WORDS[1]}"
	case "$path" in
	${parents.join("|")}) ((COMP_CWORD > 2)) && path="$path \${COMP_WORDS[2]}" ;;
	esac
	case "$path $before" in
${values.join("\n")}
	esac
	case "$path" in
${commands.join("\n")}
	esac
}
complete -o filenames -F _duckdock duckdock
`;
}

function fishScript(completions: readonly Completion[]): string {
	const lines = completions.flatMap(({ path, words, choices, takesFiles }) => {
		const seen =
			path === ""
				? "__fish_use_subcommand"
				: path
						.split(" ")
						.map((word) => `__fish_seen_subcommand_from ${word}`)
						.join("; and ");
		const head = `complete -c duckdock -n "${seen}"`;
		const noFiles = takesFiles ? [] : [`${head} -f`];
		const each = words.map((word) => {
			if (!word.startsWith("--")) return `${head} -a ${word}`;
			const values = choices[word];
			return `${head} -l ${word.slice(2)}${values ? ` -xa "${values.join(" ")}"` : ""}`;
		});
		return [...noFiles, ...each];
	});
	return `${lines.join("\n")}\n`;
}
