/** drover costs: what models cost, by scope and model. */
import { CostBreakdownBy, CostScope, type CostBreakdown, type CostForecast, type CostSummary } from "@drover/contract";
import { takePositionals } from "../arguments.ts";
import { connect } from "../connection.ts";
import { toElapsed } from "../elapsed.ts";
import { EXIT, UsageError } from "../exit-code.ts";
import { printList } from "../list-text.ts";
import { toUsd } from "../money.ts";
import { formatTable } from "../table.ts";
import type { Arguments, Context, Verb } from "../verb.ts";

function formatSummary(summary: CostSummary, width: number): readonly string[] {
  const rows = summary.breakdown.map((row) => [
    toUsd(row.record_count === row.unpriced_count ? null : row.total_cost),
    String(row.record_count),
    String(row.prompt_tokens),
    String(row.completion_tokens),
    row.model,
  ]);
  const unpriced =
    summary.unpriced_count === 0
      ? []
      : [`${summary.unpriced_count} calls of models without a price are not in the sum; see: drover prices`];
  const total = [toUsd(summary.total_cost), String(summary.record_count), String(summary.prompt_tokens)];
  const all = [...rows, [...total, String(summary.completion_tokens), "all models"]];
  return [...formatTable(["COST", "CALLS", "TOKENS IN", "TOKENS OUT", "MODEL"], all, width), ...unpriced];
}

const formatBreakdown = ({ by, items }: CostBreakdown, width: number): readonly string[] =>
  items.length === 0
    ? ["Nothing was spent."]
    : formatTable(
        ["COST", "CALLS", "TOKENS", by.toUpperCase()],
        items.map((row) => [
          toUsd(row.record_count === row.unpriced_count ? null : row.total_cost),
          String(row.record_count),
          String(row.total_tokens),
          row.label === "" ? `no ${by}` : row.label,
        ]),
        width,
      );

const formatForecast = (one: CostForecast): string =>
  `${one.pending_task_count} tasks of ${Math.round(one.avg_tokens_per_task)} tokens (${one.avg_tokens_origin}) with ${one.model}: ` +
  `${toUsd(one.estimated_cost)}, a fifth added.`;

async function forecast(context: Context, args: Arguments): Promise<number> {
  const [, count = ""] = takePositionals(costs, args, 2, 2);
  const [tokens, model] = [args.get("tokens"), args.get("model")];
  if (!/^[1-9]\d{0,6}$/.test(count) || (tokens !== undefined && !/^[1-9]\d{0,8}$/.test(tokens)))
    throw new UsageError("forecast takes a number of tasks, and --tokens a number of tokens", costs.name);
  const body = {
    pending_task_count: Number(count),
    ...(tokens === undefined ? {} : { avg_tokens_per_task: Number(tokens) }),
    ...(model === undefined ? {} : { model }),
  };
  const found = await connect(context, args).forecastCosts({ body }, { signal: context.signal });
  context.print(args.has("json") ? JSON.stringify(found, null, 2) : formatForecast(found));
  return EXIT.ok;
}

const SCOPES: Readonly<Record<string, string>> = {
  project: "project_id",
  ticket: "ticket_id",
  task: "task_id",
  sandbox: "sandbox_id",
};

/** Each call of a model by itself, the newest first. */
async function records(context: Context, args: Arguments): Promise<number> {
  const [, scope, id] = takePositionals(costs, args, 1, 3);
  const field = scope !== undefined && Object.hasOwn(SCOPES, scope) ? SCOPES[scope] : undefined;
  if ((scope === undefined) !== (id === undefined) || (scope !== undefined && field === undefined))
    throw new UsageError(`usage: drover ${costs.name} ${costs.usage}`, costs.name);
  const model = args.get("model");
  const query = {
    limit: 100,
    ...(model === undefined ? {} : { model }),
    ...(field === undefined ? {} : { [field]: id }),
  };
  const page = await connect(context, args).listCosts({ query }, { signal: context.signal });
  const now = context.now();
  printList(context, args, page, {
    header: ["AGE", "COST", "IN", "OUT", "SANDBOX", "MODEL"],
    toRow: (one) => [
      toElapsed(one.recorded_at, now),
      toUsd(one.total_cost),
      String(one.prompt_tokens),
      String(one.completion_tokens),
      one.sandbox_id ?? one.purpose,
      one.model,
    ],
    nothing: "No model was called.",
  });
  return EXIT.ok;
}

export const costs: Verb = {
  name: "costs",
  summary: "What models cost, by scope and model.",
  usage: "[project|ticket|task|sandbox <id>] | records [project|ticket|task|sandbox <id>] | forecast <tasks>",
  isRemote: true,
  flags: [
    { name: "by", value: "what", doc: "Break down by model, project, ticket, task, sandbox, phase or day." },
    { name: "tokens", value: "n", doc: "For forecast: tokens of a task, if not as measured." },
    { name: "model", value: "name", doc: "For forecast: the model. For records: only its calls." },
  ],
  async run(context, args) {
    if (args.positionals[0] === "forecast") return forecast(context, args);
    if (args.positionals[0] === "records") return records(context, args);
    const [scope = "global", scope_id] = takePositionals(costs, args, 0, 2);
    const scope_type = CostScope.safeParse(scope).data;
    if (scope_type === undefined || (scope_type === "global") !== (scope_id === undefined))
      throw new UsageError(`usage: drover ${costs.name} ${costs.usage}`, costs.name);
    const query = { scope_type, ...(scope_id === undefined ? {} : { scope_id }) };
    const wanted = args.get("by");
    if (wanted !== undefined) {
      const by = CostBreakdownBy.safeParse(wanted).data;
      if (by === undefined)
        throw new UsageError(`--by takes ${CostBreakdownBy.options.join(", ")}, not ${wanted}`, costs.name);
      const found = await connect(context, args).breakDownCosts(
        { query: { ...query, by } },
        { signal: context.signal },
      );
      if (args.has("json")) context.print(JSON.stringify(found, null, 2));
      else for (const line of formatBreakdown(found, context.width)) context.print(line);
      return EXIT.ok;
    }
    const summary = await connect(context, args).summariseCosts({ query }, { signal: context.signal });
    if (args.has("json")) context.print(JSON.stringify(summary, null, 2));
    else for (const line of formatSummary(summary, context.width)) context.print(line);
    return EXIT.ok;
  },
};
