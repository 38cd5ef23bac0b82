/** drover prices: what tokens cost. */
import type { Price } from "@drover/contract";
import { takePositionals } from "../arguments.ts";
import { connect } from "../connection.ts";
import { EXIT, UsageError } from "../exit-code.ts";
import { parseUsd } from "../money.ts";
import { formatTable } from "../table.ts";
import type { Arguments, Context, Verb } from "../verb.ts";

const refuse = () => new UsageError(`usage: drover ${prices.name} ${prices.usage}`, prices.name);

function tell(context: Context, args: Arguments, items: readonly Price[]): number {
  if (args.has("json")) {
    context.print(JSON.stringify(items, null, 2));
    return EXIT.ok;
  }
  const rows = items.map((one) => [
    String(one.input),
    String(one.output),
    String(one.cache_read ?? "-"),
    String(one.cache_write ?? "-"),
    `${one.origin} ${one.as_of}`,
    one.model,
  ]);
  const header = ["IN", "OUT", "CACHE READ", "CACHE WRITE", "FROM", "MODEL (USD PER MILLION TOKENS)"];
  for (const line of formatTable(header, rows, context.width)) context.print(line);
  return EXIT.ok;
}

async function list(context: Context, args: Arguments): Promise<number> {
  takePositionals(prices, args, 0, 1);
  return tell(context, args, (await connect(context, args).listPrices({}, { signal: context.signal })).items);
}

async function set(context: Context, args: Arguments): Promise<number> {
  const [, model = ""] = takePositionals(prices, args, 2, 2);
  const [input, output] = [parseUsd(prices, args, "input"), parseUsd(prices, args, "output")];
  if (input === undefined || output === undefined) throw refuse();
  const body = {
    model,
    input,
    output,
    cache_read: parseUsd(prices, args, "cache-read") ?? null,
    cache_write: parseUsd(prices, args, "cache-write") ?? null,
  };
  return tell(context, args, [await connect(context, args).putPrice({ body }, { signal: context.signal })]);
}

async function rm(context: Context, args: Arguments): Promise<number> {
  const [, model = ""] = takePositionals(prices, args, 2, 2);
  const input = { params: { model } };
  return tell(context, args, [await connect(context, args).deletePrice(input, { signal: context.signal })]);
}

const ACTIONS: Readonly<Record<string, (context: Context, args: Arguments) => Promise<number>>> = { list, set, rm };

export const prices: Verb = {
  name: "prices",
  summary: "What tokens cost, by model.",
  usage: "[list] | set <model> | rm <model>",
  isRemote: true,
  details: "In a model's name * stands for anything.",
  flags: [
    { name: "input", value: "usd", doc: "For set: a million tokens of input." },
    { name: "output", value: "usd", doc: "For set: a million tokens of output." },
    { name: "cache-read", value: "usd", doc: "For set: read from a cache." },
    { name: "cache-write", value: "usd", doc: "For set: written to a cache." },
  ],
  async run(context, args) {
    const [action = "list"] = args.positionals;
    const chosen = Object.hasOwn(ACTIONS, action) ? ACTIONS[action] : undefined;
    if (chosen === undefined) throw refuse();
    return chosen(context, args);
  },
};
