/** drover retention: sessions that their projects keep no longer. */
import { takePositionals } from "../arguments.ts";
import { connect } from "../connection.ts";
import { EXIT } from "../exit-code.ts";
import { printList } from "../list-text.ts";
import type { RetentionReport } from "@drover/contract";
import type { Verb } from "../verb.ts";

const SESSIONS = {
  header: ["SANDBOX", "ENDED", "EVENTS", "PROJECT"],
  toRow: (one: RetentionReport["items"][number]) => [
    one.sandbox_id,
    one.ended_at.slice(0, 10),
    String(one.events),
    one.project_id,
  ],
  nothing: "Nothing is older than its project keeps it.",
} as const;

export const retention: Verb = {
  name: "retention",
  summary: "Remove sessions that their projects keep no longer.",
  usage: "[flags]",
  isRemote: true,
  flags: [{ name: "dry-run", short: "n", doc: "Only say what would be removed." }],
  details:
    "A project says with the setting retention_days how long a session that has ended is kept; without it for ever. The server does the same every hour. Events, messages, artifacts and files go; the sandbox's row and its costs stay. Needs an admin's token.",
  async run(context, args) {
    takePositionals(retention, args, 0, 0);
    const body = { dry_run: args.has("dry-run") };
    const report = await connect(context, args).applyRetention({ body }, { signal: context.signal });
    if (args.has("json")) context.print(JSON.stringify(report, null, 2));
    else printList(context, args, report, SESSIONS);
    return EXIT.ok;
  },
};
