/** drover cancel: ends what is not wanted any more. */
import { takePositionals } from "../arguments.ts";
import { connect } from "../connection.ts";
import { EXIT } from "../exit-code.ts";
import type { Verb } from "../verb.ts";

export const cancel: Verb = {
  name: "cancel",
  summary: "End sandboxes whose work is not wanted any more.",
  usage: "<id...>",
  isRemote: true,
  flags: [],
  async run(context, args) {
    const client = connect(context, args);
    for (const sandbox_id of takePositionals(cancel, args, 1, 100)) {
      const sandbox = await client.cancelSandbox({ params: { sandbox_id } }, { signal: context.signal });
      context.print(args.has("json") ? JSON.stringify(sandbox) : `${sandbox.id} ${sandbox.state}`);
    }
    return EXIT.ok;
  },
};
