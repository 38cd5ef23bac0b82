/** drover budgets: what models may cost. */
import { CostScope, type Budget } from "@drover/contract";
import { takePositionals } from "../arguments.ts";
import { connect } from "../connection.ts";
import { EXIT, UsageError } from "../exit-code.ts";
import { parseUsd, toUsd } from "../money.ts";
import { formatTable } from "../table.ts";
import type { Arguments, Context, Verb } from "../verb.ts";

const refuse = () => new UsageError(`usage: drover ${budgets.name} ${budgets.usage}`, budgets.name);

function tell(context: Context, args: Arguments, items: readonly Budget[]): number {
  if (args.has("json")) {
    context.print(JSON.stringify(items, null, 2));
    return EXIT.ok;
  }
  const rows = items.map((one) => [
    one.id,
    toUsd(one.spent_amount),
    toUsd(one.limit_amount),
    one.exceeded ? "used up" : `${Math.round(one.utilization * 100)} %`,
    one.scope_id === null ? one.scope_type : `${one.scope_type} ${one.scope_id}`,
  ]);
  for (const line of formatTable(["ID", "SPENT", "LIMIT", "USED", "OF"], rows, context.width)) context.print(line);
  return EXIT.ok;
}

function requireLimit(args: Arguments): number {
  const limit = parseUsd(budgets, args, "limit");
  if (limit === undefined) throw refuse();
  return limit;
}

async function list(context: Context, args: Arguments): Promise<number> {
  takePositionals(budgets, args, 0, 1);
  const { items } = await connect(context, args).listBudgets({ query: { limit: 500 } }, { signal: context.signal });
  return tell(context, args, items);
}

async function create(context: Context, args: Arguments): Promise<number> {
  const [, scope = "", scope_id] = takePositionals(budgets, args, 2, 3);
  const scope_type = CostScope.safeParse(scope).data;
  if (scope_type === undefined) throw refuse();
  const share = args.get("warn-at");
  const body = {
    scope_type,
    limit_amount: requireLimit(args),
    ...(scope_id === undefined ? {} : { scope_id }),
    ...(share === undefined ? {} : { alert_threshold: Number(share) }),
  };
  return tell(context, args, [await connect(context, args).createBudget({ body }, { signal: context.signal })]);
}

async function set(context: Context, args: Arguments): Promise<number> {
  const [, budget_id = ""] = takePositionals(budgets, args, 2, 2);
  const input = { params: { budget_id }, body: { limit_amount: requireLimit(args) } };
  return tell(context, args, [await connect(context, args).changeBudget(input, { signal: context.signal })]);
}

async function rm(context: Context, args: Arguments): Promise<number> {
  const [, budget_id = ""] = takePositionals(budgets, args, 2, 2);
  const input = { params: { budget_id } };
  return tell(context, args, [await connect(context, args).deleteBudget(input, { signal: context.signal })]);
}

const ACTIONS: Readonly<Record<string, (context: Context, args: Arguments) => Promise<number>>> = {
  list,
  create,
  set,
  rm,
};

export const budgets: Verb = {
  name: "budgets",
  summary: "Limit what models may cost.",
  usage: "[list] | create <scope> [id] | set <id> | rm <id>",
  isRemote: true,
  details: "A scope is global, project, ticket, task or sandbox.",
  flags: [
    { name: "limit", value: "usd", doc: "For create and set: the limit in dollars." },
    { name: "warn-at", value: "share", doc: "For create: warn at this share (0.8)." },
  ],
  async run(context, args) {
    const [action = "list"] = args.positionals;
    const chosen = Object.hasOwn(ACTIONS, action) ? ACTIONS[action] : undefined;
    if (chosen === undefined) throw refuse();
    return chosen(context, args);
  },
};
