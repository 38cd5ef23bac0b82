/** drover budgets: what models may cost. */
import { CostScope, type Budget } from "@drover/contract";
import { takePositionals } from "../arguments.ts";
import { connect } from "../connection.ts";
import { EXIT, UsageError } from "../exit-code.ts";
import { printList } from "../list-text.ts";
import { parseUsd, toUsd } from "../money.ts";
import type { Arguments, Context, Verb } from "../verb.ts";

const refuse = () => new UsageError(`usage: drover ${budgets.name} ${budgets.usage}`, budgets.name);

const TEXT = {
  header: ["ID", "SPENT", "LIMIT", "USED", "OF"],
  toRow: (one: Budget) => [
    one.id,
    toUsd(one.spent_amount),
    toUsd(one.limit_amount),
    one.exceeded ? "used up" : `${Math.round(one.utilization * 100)} %`,
    one.scope_id === null ? one.scope_type : `${one.scope_type} ${one.scope_id}`,
  ],
  nothing: "There are no budgets: models may cost anything.",
} as const;

function tell(context: Context, args: Arguments, one: Budget): number {
  if (args.has("json")) context.print(JSON.stringify(one, null, 2));
  else printList(context, args, { items: [one] }, TEXT);
  return EXIT.ok;
}

function requireLimit(args: Arguments): number {
  const limit = parseUsd(budgets, args, "limit");
  if (limit === undefined) throw new UsageError("--limit says how many dollars; it is needed", budgets.name);
  return limit;
}

function parseShare(args: Arguments): number | undefined {
  const text = args.get("warn-at");
  if (text === undefined || /^(?:0?\.\d+|[01](?:\.0+)?)$/.test(text))
    return text === undefined ? undefined : Number(text);
  throw new UsageError(`--warn-at takes a share from 0 to 1, not ${JSON.stringify(text)}`, budgets.name);
}

async function list(context: Context, args: Arguments): Promise<number> {
  takePositionals(budgets, args, 0, 1);
  const page = await connect(context, args).listBudgets({ query: { limit: 500 } }, { signal: context.signal });
  printList(context, args, page, TEXT);
  return EXIT.ok;
}

async function create(context: Context, args: Arguments): Promise<number> {
  const [, scope = "", scope_id] = takePositionals(budgets, args, 2, 3);
  const scope_type = CostScope.safeParse(scope).data;
  if (scope_type === undefined) throw refuse();
  const share = parseShare(args);
  const body = {
    scope_type,
    limit_amount: requireLimit(args),
    ...(scope_id === undefined ? {} : { scope_id }),
    ...(share === undefined ? {} : { alert_threshold: share }),
  };
  return tell(context, args, await connect(context, args).createBudget({ body }, { signal: context.signal }));
}

async function set(context: Context, args: Arguments): Promise<number> {
  const [, budget_id = ""] = takePositionals(budgets, args, 2, 2);
  const input = { params: { budget_id }, body: { limit_amount: requireLimit(args) } };
  return tell(context, args, await connect(context, args).changeBudget(input, { signal: context.signal }));
}

async function rm(context: Context, args: Arguments): Promise<number> {
  const [, budget_id = ""] = takePositionals(budgets, args, 2, 2);
  const input = { params: { budget_id } };
  const gone = await connect(context, args).deleteBudget(input, { signal: context.signal });
  context.print(args.has("json") ? JSON.stringify(gone, null, 2) : `${gone.id} removed`);
  return EXIT.ok;
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
