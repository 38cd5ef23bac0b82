/** drover guardian: what supervision sees of a run, and what it did. */
import type { Intervention, Supervision } from "@drover/contract";
import { takePositionals } from "../arguments.ts";
import { connect } from "../connection.ts";
import { EXIT } from "../exit-code.ts";
import { formatTable } from "../table.ts";
import type { Verb } from "../verb.ts";

const LATEST = 50;

function formatSeen(seen: Supervision, width: number): readonly string[] {
  const since = seen.condition_since === null ? "" : ` since ${seen.condition_since}`;
  const condition = `${seen.sandbox_id} is ${seen.condition ?? "not looked at yet"}${since}.`;
  if (seen.signals.length === 0) return [condition, "No sign of trouble."];
  const rows = seen.signals.map(({ signal, level, seqs, detail }) => [signal, level, seqs.join(" "), detail]);
  return [condition, ...formatTable(["SIGN", "LEVEL", "EVENTS", "WHAT"], rows, width)];
}

const formatDone = (items: readonly Intervention[], width: number): readonly string[] =>
  items.length === 0
    ? ["The guardian has done nothing."]
    : formatTable(
        ["WHEN", "SANDBOX", "STEP", "OUTCOME", "WHY"],
        items.map((one) => [one.created_at.slice(0, 19), one.sandbox_id, one.rung, one.outcome, one.reason]),
        width,
      );

export const guardian: Verb = {
  name: "guardian",
  summary: "What supervision sees of a run, and what the guardian did.",
  usage: "[id] [flags]",
  isRemote: true,
  flags: [],
  details:
    "With an id: its condition, its signs of trouble with the events that make them, and what was done. Without: the latest of all.",
  async run(context, args) {
    const [sandbox_id] = takePositionals(guardian, args, 0, 1);
    const client = connect(context, args);
    const signal = context.signal;
    const seen =
      sandbox_id === undefined ? undefined : await client.getSupervision({ params: { sandbox_id } }, { signal });
    const query = { limit: LATEST, ...(sandbox_id === undefined ? {} : { sandbox_id }) };
    const { items } = await client.listInterventions({ query }, { signal });
    if (args.has("json")) context.print(JSON.stringify({ ...seen, interventions: items }, null, 2));
    else {
      const lines = [
        ...(seen === undefined ? [] : formatSeen(seen, context.width)),
        ...formatDone(items, context.width),
      ];
      for (const line of lines) context.print(line);
    }
    return EXIT.ok;
  },
};
