/** drover show: one sandbox. */
import { takePositionals } from "../arguments.ts";
import { connect } from "../connection.ts";
import { EXIT } from "../exit-code.ts";
import { formatSandbox } from "../sandbox-text.ts";
import type { Verb } from "../verb.ts";

export const show: Verb = {
  name: "show",
  summary: "Show one sandbox.",
  usage: "<id>",
  isRemote: true,
  flags: [],
  async run(context, args) {
    const [sandbox_id = ""] = takePositionals(show, args, 1, 1);
    const sandbox = await connect(context, args).getSandbox({ params: { sandbox_id } }, { signal: context.signal });
    if (args.has("json")) context.print(JSON.stringify(sandbox, null, 2));
    else for (const line of formatSandbox(sandbox, context.now(), context.width)) context.print(line);
    return EXIT.ok;
  },
};
