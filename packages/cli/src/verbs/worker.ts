/** drover worker: runs an agent for one sandbox, as programs inside sandboxes do. */
import { takePositionals } from "../arguments.ts";
import type { Verb } from "../verb.ts";

export const worker: Verb = {
  name: "worker",
  summary: "Run the worker of one sandbox.",
  usage: "",
  flags: [],
  details:
    "Reads SANDBOX_ID, CALLBACK_URL and SANDBOX_TOKEN from the environment; the rest comes from the server. Its exit code is the worker's.",
  async run(context, args) {
    takePositionals(worker, args, 0, 0);
    const { runWorker } = await import("@drover/worker");
    return runWorker(context.env, context.signal);
  },
};
