/** drover monitor: work and agents in figures, and how the agents stand together. */
import { type Alert, type Anomaly, PhaseId, type StuckTicket } from "@drover/contract";
import { takePositionals } from "../arguments.ts";
import { connect } from "../connection.ts";
import { toElapsed } from "../elapsed.ts";
import { EXIT, UsageError } from "../exit-code.ts";
import { printList } from "../list-text.ts";
import { formatMetrics, METRIC_NAMES } from "../monitor/figures.ts";
import { runRules } from "../monitor/rules.ts";
import { formatFields, formatTable } from "../table.ts";
import { toSafeLine } from "../terminal.ts";
import type { Arguments, Context, Verb } from "../verb.ts";

const HOUR_MS = 3_600_000;
const CHART_POINTS = 30;

const listCounts = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .map(([name, count]) => `${count} ${name}`)
    .join(", ") || "none";

const toShare = (score: number | null | undefined): string =>
  typeof score === "number" ? score.toFixed(2) : "not judged";

async function overview(context: Context, args: Arguments): Promise<number> {
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
      "attention",
      [`${figures.critical_alerts} critical alerts, ${figures.recent_anomalies} anomalies of the last day`],
    ],
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
}

function parseHours(args: Arguments): number | undefined {
  const text = args.get("hours");
  if (text === undefined) return undefined;
  const hours = Number(text);
  if (Number.isFinite(hours) && hours > 0) return hours;
  throw new UsageError(`--hours takes a number of hours, not ${JSON.stringify(text)}`, monitor.name);
}

function parsePhase(args: Arguments): PhaseId | undefined {
  const given = args.get("phase");
  if (given === undefined) return undefined;
  const { data } = PhaseId.safeParse(given);
  if (data === undefined)
    throw new UsageError(`${given} is no phase; there are ${PhaseId.options.join(", ")}`, monitor.name);
  return data;
}

async function metrics(context: Context, args: Arguments): Promise<number> {
  const [, ...names] = takePositionals(monitor, args, 1, METRIC_NAMES.length + 1);
  const metric = names.map((name) => {
    const known = METRIC_NAMES.find((one) => one === name);
    if (known === undefined)
      throw new UsageError(`${name} is not measured; there are ${METRIC_NAMES.join(", ")}`, monitor.name);
    return known;
  });
  const from = new Date(context.now().getTime() - (parseHours(args) ?? 1) * HOUR_MS).toISOString();
  const phase = parsePhase(args);
  const query = {
    from,
    points: CHART_POINTS,
    ...(metric.length === 0 ? {} : { metric }),
    ...(phase === undefined ? {} : { phase_id: phase }),
  };
  const found = await connect(context, args).getMetrics({ query }, { signal: context.signal });
  if (args.has("json")) context.print(JSON.stringify(found, null, 2));
  else for (const line of formatMetrics(found, context.width)) context.print(line);
  return EXIT.ok;
}

async function anomalies(context: Context, args: Arguments): Promise<number> {
  const [, id] = takePositionals(monitor, args, 1, 2);
  const client = connect(context, args);
  const { signal } = context;
  const page =
    id === undefined
      ? await client.listAnomalies({ query: { hours: parseHours(args) ?? 24 } }, { signal })
      : { items: [await client.acknowledgeAnomaly({ params: { anomaly_id: id } }, { signal })] };
  printList(context, args, page, {
    header: ["ID", "AGE", "SEVERITY", "SCORE", "SEEN", "SANDBOX"],
    toRow: (one: Anomaly) => [
      one.id,
      toElapsed(one.created_at, context.now()),
      one.severity,
      one.score.toFixed(2),
      one.acknowledged_at === null ? "no" : "yes",
      one.sandbox_id,
    ],
    nothing: "No run behaved unlike the others.",
  });
  return EXIT.ok;
}

async function alerts(context: Context, args: Arguments): Promise<number> {
  const [, id] = takePositionals(monitor, args, 1, 2);
  const client = connect(context, args);
  const { signal } = context;
  const page =
    id === undefined
      ? await client.listAlerts({ query: {} }, { signal })
      : { items: [await client.acknowledgeAlert({ params: { alert_id: id } }, { signal })] };
  printList(context, args, page, {
    header: ["ID", "AGE", "STATE", "SEVERITY", "SEEN", "WHAT"],
    toRow: (one: Alert) => [
      one.id,
      toElapsed(one.started_at, context.now()),
      one.state,
      one.severity,
      one.acknowledged_at === null ? "no" : "yes",
      `${one.name} (${one.metric} ${one.value})`,
    ],
    nothing: "Nothing has fired.",
  });
  return EXIT.ok;
}

async function stuck(context: Context, args: Arguments): Promise<number> {
  const [, id] = takePositionals(monitor, args, 1, 2);
  const client = connect(context, args);
  const { signal } = context;
  if (id !== undefined) {
    const run = await client.triggerDiagnostic({ params: { ticket_id: id } }, { signal });
    if (args.has("json")) context.print(JSON.stringify(run, null, 2));
    else {
      const lines = formatFields([
        ["cause", [toSafeLine(run.diagnosis.root_cause)]],
        ["evidence", run.diagnosis.hypotheses.flatMap((one) => one.supporting_evidence.map(toSafeLine))],
        ["task", [run.diagnostic_task_id ?? "none"]],
      ]);
      for (const line of lines) context.print(line);
    }
    return EXIT.ok;
  }
  printList(context, args, await client.listStuckTickets({}, { signal }), {
    header: ["TICKET", "FAILED", "DONE", "VERDICT", "TITLE"],
    toRow: (one: StuckTicket) => [
      one.ticket_id,
      String(one.failed_tasks),
      `${one.done_tasks} of ${one.total_tasks}`,
      one.verdict.replaceAll("_", " "),
      one.title,
    ],
    nothing: "No ticket is stuck.",
  });
  return EXIT.ok;
}

async function status(context: Context, args: Arguments): Promise<number> {
  takePositionals(monitor, args, 1, 1);
  const found = await connect(context, args).getMonitorStatus({}, { signal: context.signal });
  if (args.has("json")) {
    context.print(JSON.stringify(found, null, 2));
    return EXIT.ok;
  }
  const rows = found.loops.map((one) => [
    one.name,
    `${one.every_seconds} s`,
    String(one.cycles),
    String(one.failed),
    one.last_error ?? "",
  ]);
  for (const line of formatTable(["PASS", "EVERY", "RUNS", "FAILED", "LAST ERROR"], rows, context.width))
    context.print(line);
  context.print(
    `The guardian is in mode ${found.config.guardian_mode}${found.config.judge ? ", with a judge" : ", without a judge"}.`,
  );
  return EXIT.ok;
}

const ACTIONS: Readonly<Record<string, (context: Context, args: Arguments) => Promise<number>>> = {
  metrics,
  anomalies,
  alerts,
  rules: (context, args) => runRules(monitor, context, args),
  stuck,
  status,
};

export const monitor: Verb = {
  name: "monitor",
  summary: "Work and agents in figures, alerts, anomalies and stuck tickets.",
  usage: "[metrics [name...] | anomalies [id] | alerts [id] | rules [...] | stuck [ticket] | status]",
  isRemote: true,
  details:
    "Without more: how all stands now. `metrics` shows figures over time; `anomalies` and `alerts` list, and with an id acknowledge; `rules` lists, `rules add <metric> above|below <number> <name>` adds one, `rules on|off|rm <id>` changes one; `stuck` lists stuck tickets, and with one looks into it now; `status` shows the passes of supervision.",
  flags: [
    { name: "hours", value: "n", doc: "For metrics and anomalies: how far back (1, 24)." },
    {
      name: "phase",
      value: "phase",
      doc: "For metrics: of tasks in this phase (PHASE_TESTING), and what works at them.",
    },
    { name: "for", value: "seconds", doc: "For rules add: how long it must hold." },
    { name: "critical", doc: "For rules add: the alert is critical." },
    { name: "webhook", value: "url", many: true, doc: "For rules add: also post it there." },
  ],
  async run(context, args) {
    const [action] = args.positionals;
    if (action === undefined) return overview(context, args);
    const chosen = Object.hasOwn(ACTIONS, action) ? ACTIONS[action] : undefined;
    if (chosen === undefined) throw new UsageError(`usage: drover ${monitor.name} ${monitor.usage}`, monitor.name);
    return chosen(context, args);
  },
};
