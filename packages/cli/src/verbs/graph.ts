/** drover graph: a ticket's tasks in the order in which they can run. */
import { takePositionals } from "../arguments.ts";
import { connect } from "../connection.ts";
import { EXIT } from "../exit-code.ts";
import { formatTable } from "../table.ts";
import { toSafeLine } from "../terminal.ts";
import type { Verb } from "../verb.ts";

const short = (id: string) => id.slice(0, 8);

export const graph: Verb = {
  name: "graph",
  summary: "Show a ticket's tasks, what they wait for, and what decides the end.",
  usage: "<ticket>",
  isRemote: true,
  details: "Tasks marked * decide when the ticket ends; the others may be late by their slack.",
  flags: [],
  async run(context, args) {
    const [ticket_id = ""] = takePositionals(graph, args, 1, 1);
    const client = connect(context, args);
    const found = await client.getTicketGraph({ params: { ticket_id }, query: {} }, { signal: context.signal });
    if (args.has("json")) {
      context.print(JSON.stringify(found, null, 2));
      return EXIT.ok;
    }
    const rows = found.nodes
      .filter((node) => node.type === "task")
      .toSorted((a, b) => (a.earliest_start ?? 0) - (b.earliest_start ?? 0))
      .map((node) => [
        node.is_critical ? "*" : "",
        short(node.id),
        node.status,
        `${Math.round(node.slack_seconds ?? 0)} s`,
        found.edges
          .filter((edge) => edge.type === "depends_on" && edge.target === node.id)
          .map((edge) => short(edge.source))
          .join(" ") || "-",
        node.label,
      ]);
    if (rows.length === 0) context.print("The ticket has no tasks.");
    else
      for (const line of formatTable(["", "TASK", "STATE", "SLACK", "AFTER", "TITLE"], rows, context.width))
        context.print(line);
    for (const { task_ids, example } of found.overlaps)
      context.warn(
        `${short(task_ids[0])} and ${short(task_ids[1])} never run at once: both may touch ${toSafeLine(example)}`,
      );
    return EXIT.ok;
  },
};
