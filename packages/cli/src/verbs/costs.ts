/** drover costs: what models cost, by scope and model. */
import { CostScope, type CostSummary } from "@drover/contract";
import { takePositionals } from "../arguments.ts";
import { connect } from "../connection.ts";
import { EXIT, UsageError } from "../exit-code.ts";
import { toUsd } from "../money.ts";
import { formatTable } from "../table.ts";
import type { Verb } from "../verb.ts";

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

export const costs: Verb = {
  name: "costs",
  summary: "What models cost, by scope and model.",
  usage: "[project|ticket|task|sandbox <id>]",
  isRemote: true,
  flags: [],
  async run(context, args) {
    const [scope = "global", scope_id] = takePositionals(costs, args, 0, 2);
    const scope_type = CostScope.safeParse(scope).data;
    if (scope_type === undefined || (scope_type === "global") !== (scope_id === undefined))
      throw new UsageError(`usage: drover ${costs.name} ${costs.usage}`, costs.name);
    const query = { scope_type, ...(scope_id === undefined ? {} : { scope_id }) };
    const summary = await connect(context, args).summariseCosts({ query }, { signal: context.signal });
    if (args.has("json")) context.print(JSON.stringify(summary, null, 2));
    else for (const line of formatSummary(summary, context.width)) context.print(line);
    return EXIT.ok;
  },
};
