/** `duckdock completion bash | zsh | fish`: a script for the shell, made of the commands as they are. */
import { Argument, type Command } from "commander";
import { type CommandContext, defineCommand } from "../command.ts";
import { completionScript, completionsOf, type Shell, shells } from "../completion-scripts.ts";

export function completionCommand({ outcome }: CommandContext): Command {
	const command = defineCommand("completion", "print a completion script for your shell", [
		"completion bash > ~/.local/share/bash-completion/completions/duckdock",
		"completion fish > ~/.config/fish/completions/duckdock.fish",
	]).addArgument(new Argument("<shell>").choices(shells));
	return command.action((shell: Shell) => {
		const script = completionScript(shell, completionsOf(command.parent ?? command));
		outcome.result = { json: { shell, script }, text: script.trimEnd() };
	});
}
