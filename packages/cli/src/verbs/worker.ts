/** drover worker: runs an agent for one sandbox, as programs inside sandboxes do. */
import { takePositionals } from "../arguments.ts";
import type { Verb } from "../verb.ts";

export const worker: Verb = {
  name: "worker",
  summary: "Run the worker of one sandbox.",
  usage: "",
  flags: [],
  details:
    "Reads SANDBOX_ID, CALLBACK_URL and SANDBOX_TOKEN from the environment; the rest comes from the server. Its exit code is the worker's: 0 over, 1 failed, 3 token revoked, 4 sandbox ended or replaced.",
  async run(context, args) {
    takePositionals(worker, args, 0, 0);
    const { runWorker } = await import("@drover/worker");
    const { code, reason, unsent } = await runWorker(context.env, context.signal);
    if (args.has("json")) context.print(JSON.stringify({ code, reason, unsent }));
    else if (code !== 0)
      context.warn(
        `drover: The worker ended: ${reason}${unsent === 0 ? "" : `; ${unsent} events are kept for the next start`}.`,
      );
    return code;
  },
};
