/** drover prune: removes what nobody needs any more. */
import type { PruneReport } from "@drover/contract";
import { takePositionals } from "../arguments.ts";
import { connect } from "../connection.ts";
import { EXIT, UsageError } from "../exit-code.ts";
import { formatTable } from "../table.ts";
import type { Arguments, Context, Verb } from "../verb.ts";

const WORDS = {
  stray: "no longer known",
  ended: "has ended",
  completed: "completed",
  at_work: "AT WORK",
} as const;

const formatItems = ({ items }: PruneReport, width: number) =>
  formatTable(
    ["PROVIDER", "NAME", "WHY", "PROBLEM"],
    items.map((item) => [item.provider, item.key, WORDS[item.reason], item.error ?? ""]),
    width,
  );

async function isAgreed(context: Context, args: Arguments, count: number): Promise<boolean> {
  if (args.has("yes")) return true;
  if (context.ask === undefined) throw new UsageError("nobody can answer here; add --yes", "prune");
  return /^y(es)?$/i.test((await context.ask(`Remove ${count}? [y/N] `)).trim());
}

export const prune: Verb = {
  name: "prune",
  summary: "Remove completed sandboxes, and what is left of ended ones.",
  usage: "[flags]",
  isRemote: true,
  flags: [
    { name: "all", short: "a", doc: "Also sandboxes that are at work." },
    { name: "dry-run", short: "n", doc: "Only say what would be removed." },
    { name: "yes", short: "y", doc: "Do not ask." },
  ],
  details: "Logs and artifacts stay. Needs an admin's token.",
  async run(context, args) {
    takePositionals(prune, args, 0, 0);
    const client = connect(context, args);
    const { signal } = context;
    const all = args.has("all");
    const planned = await client.pruneSandboxes({ body: { all, dry_run: true } }, { signal });
    const isDry = args.has("dry-run");
    if (!args.has("json"))
      for (const line of formatItems(planned, context.width)) if (planned.items.length > 0) context.print(line);
    if (planned.items.length === 0 || isDry) {
      if (args.has("json")) context.print(JSON.stringify(planned, null, 2));
      else if (planned.items.length === 0) context.print("There is nothing to remove.");
      return EXIT.ok;
    }
    if (!(await isAgreed(context, args, planned.items.length))) {
      context.warn("Nothing was removed.");
      return EXIT.failed;
    }
    const done = await client.pruneSandboxes({ body: { all, dry_run: false } }, { signal });
    const failed = done.items.filter((item) => item.error !== null);
    if (args.has("json")) context.print(JSON.stringify(done, null, 2));
    else {
      context.print(`${done.items.length - failed.length} removed.`);
      if (failed.length > 0)
        for (const line of formatItems({ ...done, items: failed }, context.width)) context.warn(line);
    }
    return failed.length === 0 ? EXIT.ok : EXIT.failed;
  },
};
