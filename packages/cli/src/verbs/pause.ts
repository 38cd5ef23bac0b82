/** drover pause: everything in a sandbox stands still. */
import { takePositionals } from "../arguments.ts";
import { connect } from "../connection.ts";
import { EXIT } from "../exit-code.ts";
import type { Verb } from "../verb.ts";

export const pause: Verb = {
  name: "pause",
  summary: "Stop everything in running sandboxes where it stands.",
  usage: "<id...>",
  isRemote: true,
  flags: [],
  async run(context, args) {
    const client = connect(context, args);
    for (const sandbox_id of takePositionals(pause, args, 1, 100)) {
      const sandbox = await client.pauseSandbox({ params: { sandbox_id } }, { signal: context.signal });
      context.print(args.has("json") ? JSON.stringify(sandbox) : `${sandbox.id} ${sandbox.state}`);
    }
    return EXIT.ok;
  },
};
