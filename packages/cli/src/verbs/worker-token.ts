/** drover worker-token: another worker takes over a sandbox of provider external. */
import { takePositionals } from "../arguments.ts";
import { connect } from "../connection.ts";
import { EXIT } from "../exit-code.ts";
import type { Verb } from "../verb.ts";
import { printWorkerEnv } from "../worker-env.ts";

export const workerToken: Verb = {
  name: "worker-token",
  summary: "Let another worker take over a sandbox of provider external.",
  usage: "<id>",
  isRemote: true,
  details:
    "Starts its next generation: the worker before is fenced off. Prints, once, the variables of the new one, for `eval`.",
  flags: [],
  async run(context, args) {
    const [sandbox_id = ""] = takePositionals(workerToken, args, 1, 1);
    const made = await connect(context, args).replaceWorker({ params: { sandbox_id } }, { signal: context.signal });
    if (args.has("json")) context.print(JSON.stringify(made, null, 2));
    else printWorkerEnv(context, made);
    return EXIT.ok;
  },
};
