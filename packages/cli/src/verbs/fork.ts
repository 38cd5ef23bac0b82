/** drover fork: a new sandbox that goes on from any event of another run. */
import { parseCount, takePositionals } from "../arguments.ts";
import { connect } from "../connection.ts";
import { EXIT } from "../exit-code.ts";
import type { Verb } from "../verb.ts";

export const fork: Verb = {
  name: "fork",
  summary: "Go on from any event of a run in a new sandbox.",
  usage: "<id> [prompt...]",
  isRemote: true,
  flags: [
    { name: "at", value: "seq", doc: "The last event it knows; the newest unless given." },
    { name: "fresh", doc: "Also when nothing of the agent's memory is left." },
  ],
  details: "It has the files as they were, and the agent's memory where the runtime can. Prints the new sandbox's id.",
  async run(context, args) {
    const [sandbox_id = "", ...words] = takePositionals(fork, args, 1, Number.POSITIVE_INFINITY);
    const at_seq = parseCount(fork, args, "at");
    const body = {
      ...(at_seq === undefined ? {} : { at_seq }),
      ...(words.length === 0 ? {} : { prompt: words.join(" ") }),
      ...(args.has("fresh") ? { fresh: true } : {}),
    };
    const made = await connect(context, args).forkSandbox({ params: { sandbox_id }, body }, { signal: context.signal });
    context.print(args.has("json") ? JSON.stringify(made, null, 2) : made.id);
    return EXIT.ok;
  },
};
