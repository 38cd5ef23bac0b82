/** drover logs: what a sandbox's worker says about itself. */
import { takePositionals } from "../arguments.ts";
import { connect } from "../connection.ts";
import { EXIT } from "../exit-code.ts";
import { toSafeText } from "../terminal.ts";
import type { Verb } from "../verb.ts";

const LOOK_EVERY_MS = 1_000;

export const logs: Verb = {
  name: "logs",
  summary: "Print the log of a sandbox's worker.",
  usage: "<id> [flags]",
  isRemote: true,
  flags: [{ name: "follow", short: "f", doc: "Go on with new lines until the sandbox ends or Ctrl-C." }],
  details:
    "The worker's own words: how it started, what it could not send. What the agent did is in `drover events`. Of a sandbox that has ended, the last 256 KiB are kept.",
  async run(context, args) {
    const [sandbox_id = ""] = takePositionals(logs, args, 1, 1);
    const client = connect(context, args);
    let offset: number | undefined;
    for (;;) {
      const query = offset === undefined ? {} : { offset };
      const log = await client.readLogs({ params: { sandbox_id }, query }, { signal: context.signal });
      if (args.has("json")) context.print(JSON.stringify(log));
      else context.write("out", toSafeText(log.text));
      if (log.source === "none" && offset === undefined) context.warn("No log of this sandbox was kept.");
      const isOver = log.source !== "sandbox" && log.text === "";
      if (!args.has("follow") || isOver || context.signal.aborted) return EXIT.ok;
      offset = log.next_offset;
      if (log.text === "") await context.wait(LOOK_EVERY_MS);
      if (context.signal.aborted) return EXIT.ok;
    }
  },
};
