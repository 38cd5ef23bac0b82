/** drover completion: a script that makes a shell complete this command line. */
import { takePositionals } from "../arguments.ts";
import { SHELLS, toCompletion, toVerbTable } from "../completion-script.ts";
import { EXIT, UsageError } from "../exit-code.ts";
import type { Verb } from "../verb.ts";

export const toCompletionVerb = (verbs: () => readonly Verb[]): Verb => {
  const completion: Verb = {
    name: "completion",
    summary: "Print a script with which a shell completes commands.",
    usage: "bash | zsh | fish",
    flags: [],
    details: "For bash: source <(drover completion bash). With --json: the commands with their actions and flags.",
    async run(context, args) {
      const [given = ""] = takePositionals(completion, args, args.has("json") ? 0 : 1, 1);
      if (args.has("json")) {
        context.print(JSON.stringify(toVerbTable(verbs()), null, 2));
        return EXIT.ok;
      }
      const shell = SHELLS.find((one) => one === given);
      if (shell === undefined) throw new UsageError(`there is only ${SHELLS.join(", ")}`, completion.name);
      context.print(toCompletion(shell, verbs()));
      return EXIT.ok;
    },
  };
  return completion;
};
