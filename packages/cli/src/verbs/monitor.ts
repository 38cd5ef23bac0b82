/** drover monitor: work and agents in figures, and how the agents stand together. */
import { takePositionals } from "../arguments.ts";
import { connect } from "../connection.ts";
import { EXIT } from "../exit-code.ts";
import { formatFields } from "../table.ts";
import { toSafeLine } from "../terminal.ts";
import type { Verb } from "../verb.ts";

const listCounts = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .map(([name, count]) => `${count} ${name}`)
    .join(", ") || "none";

const toShare = (score: number | null | undefined): string =>
  typeof score === "number" ? score.toFixed(2) : "not judged";

export const monitor: Verb = {
  name: "monitor",
  summary: "Work and agents in figures, and how the agents stand together.",
  usage: "[flags]",
  isRemote: true,
  flags: [],
  async run(context, args) {
    takePositionals(monitor, args, 0, 0);
    const client = connect(context, args);
    const { signal } = context;
    const [figures, health, conductor] = await Promise.all([
      client.getDashboard({}, { signal }),
      client.getMonitorHealth({}, { signal }),
      client.listConductorAnalyses({ query: { limit: 1 } }, { signal }),
    ]);
    const [analysis] = conductor.items;
    if (args.has("json")) {
      context.print(JSON.stringify({ figures, health, conductor: analysis ?? null }, null, 2));
      return EXIT.ok;
    }
    const lines = formatFields([
      [
        "agents",
        [
          `${figures.active_agents} running, ${figures.stale_agents} silent, ${figures.waiting_for_answer} waiting for an answer`,
        ],
      ],
      ["tasks", [`${figures.total_tasks_pending} pending, ${figures.total_tasks_completed} completed`]],
      ["events", [`${figures.events_last_minute} in the last minute`]],
      ["health", [`${health.system_health}, alignment ${toShare(health.average_alignment)}`]],
      ["conditions", [listCounts(health.conditions)]],
      ["signs", [listCounts(health.signals)]],
      ["guardian", [`${figures.interventions_last_hour} interventions in the last hour`]],
      [
        "coherence",
        [`${toShare(analysis?.coherence_score)}${analysis === undefined ? "" : `, ${analysis.system_status}`}`],
      ],
      ...(analysis === undefined || analysis.recommendations.length === 0
        ? []
        : ([["advice", analysis.recommendations.map(toSafeLine)]] as const)),
    ]);
    for (const line of lines) context.print(line);
    return EXIT.ok;
  },
};
