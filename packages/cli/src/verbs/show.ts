/** drover show: one sandbox, now or as of any event. */
import { parseCount, takePositionals } from "../arguments.ts";
import { connect } from "../connection.ts";
import { EXIT } from "../exit-code.ts";
import { formatSandbox, formatStateAt } from "../sandbox-text.ts";
import type { Verb } from "../verb.ts";

export const show: Verb = {
  name: "show",
  summary: "Show one sandbox, or what it was.",
  usage: "<id>",
  isRemote: true,
  flags: [{ name: "at", value: "seq", doc: "As of this event of the run." }],
  async run(context, args) {
    const [sandbox_id = ""] = takePositionals(show, args, 1, 1);
    const at_seq = parseCount(show, args, "at");
    const client = connect(context, args);
    if (at_seq !== undefined) {
      const input = { params: { sandbox_id }, query: { at_seq } };
      const then = await client.getStateAt(input, { signal: context.signal });
      if (args.has("json")) context.print(JSON.stringify(then, null, 2));
      else for (const line of formatStateAt(then, context.width)) context.print(line);
      return EXIT.ok;
    }
    const sandbox = await client.getSandbox({ params: { sandbox_id } }, { signal: context.signal });
    if (args.has("json")) context.print(JSON.stringify(sandbox, null, 2));
    else for (const line of formatSandbox(sandbox, context.now(), context.width)) context.print(line);
    return EXIT.ok;
  },
};
