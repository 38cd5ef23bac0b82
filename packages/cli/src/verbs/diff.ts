/** drover diff: what a run changed in its workspace. */
import { parseCount, takePositionals } from "../arguments.ts";
import { connect } from "../connection.ts";
import { EXIT } from "../exit-code.ts";
import { printContent } from "../print-content.ts";
import type { Verb } from "../verb.ts";

export const diff: Verb = {
  name: "diff",
  summary: "Show what a run changed.",
  usage: "<id> [path]",
  isRemote: true,
  flags: [
    { name: "from", value: "seq", doc: "Since this event; since the beginning of the run unless given." },
    { name: "at", value: "seq", doc: "Up to this event; up to now unless given." },
  ],
  details: "Through a pipe the patch is exact, so that git apply takes it.",
  async run(context, args) {
    const [sandbox_id = "", path] = takePositionals(diff, args, 1, 2);
    const query = { path, from_seq: parseCount(diff, args, "from"), at_seq: parseCount(diff, args, "at") };
    const { patch } = await connect(context, args).getWorkspaceDiff(
      { params: { sandbox_id }, query },
      { signal: context.signal },
    );
    if (args.has("json")) context.print(JSON.stringify({ patch }));
    else if (patch === "") context.warn("Nothing was changed.");
    else await printContent(context, patch);
    return EXIT.ok;
  },
};
