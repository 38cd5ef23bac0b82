/** drover resume: paused sandboxes go on. */
import { takePositionals } from "../arguments.ts";
import { connect } from "../connection.ts";
import { EXIT } from "../exit-code.ts";
import type { Verb } from "../verb.ts";

export const resume: Verb = {
  name: "resume",
  summary: "Let paused sandboxes go on.",
  usage: "<id...>",
  isRemote: true,
  flags: [],
  async run(context, args) {
    const client = connect(context, args);
    for (const sandbox_id of takePositionals(resume, args, 1, 100)) {
      const sandbox = await client.resumeSandbox({ params: { sandbox_id } }, { signal: context.signal });
      context.print(args.has("json") ? JSON.stringify(sandbox) : `${sandbox.id} ${sandbox.state}`);
    }
    return EXIT.ok;
  },
};
