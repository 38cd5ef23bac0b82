/** drover prices: what tokens cost. */
import type { Price } from "@drover/contract";
import { takePositionals } from "../arguments.ts";
import { connect } from "../connection.ts";
import { EXIT, UsageError } from "../exit-code.ts";
import { printList } from "../list-text.ts";
import { parseUsd } from "../money.ts";
import { toSafeLine } from "../terminal.ts";
import type { Arguments, Context, Verb } from "../verb.ts";

const refuse = () => new UsageError(`usage: drover ${prices.name} ${prices.usage}`, prices.name);

/** US dollars for a million tokens. */
const TEXT = {
  header: ["$/M IN", "$/M OUT", "CACHE READ", "CACHE WRITE", "FROM", "MODEL"],
  toRow: (one: Price) => [
    String(one.input),
    String(one.output),
    String(one.cache_read ?? "-"),
    String(one.cache_write ?? "-"),
    `${one.origin} ${one.as_of}`,
    one.model,
  ],
  nothing: "There are no prices.",
} as const;

async function list(context: Context, args: Arguments): Promise<number> {
  takePositionals(prices, args, 0, 1);
  const page = await connect(context, args).listPrices({}, { signal: context.signal });
  printList(context, args, page, TEXT);
  return EXIT.ok;
}

async function set(context: Context, args: Arguments): Promise<number> {
  const [, model = ""] = takePositionals(prices, args, 2, 2);
  const [input, output] = [parseUsd(prices, args, "input"), parseUsd(prices, args, "output")];
  if (input === undefined || output === undefined)
    throw new UsageError("--input and --output say what a million tokens cost; both are needed", prices.name);
  const window = args.get("window");
  if (window !== undefined && !/^[1-9]\d{0,8}$/.test(window))
    throw new UsageError(`--window takes a number of tokens, not ${JSON.stringify(window)}`, prices.name);
  const body = {
    model,
    input,
    output,
    cache_read: parseUsd(prices, args, "cache-read") ?? null,
    cache_write: parseUsd(prices, args, "cache-write") ?? null,
    ...(window === undefined ? {} : { context_tokens: Number(window) }),
  };
  const one = await connect(context, args).putPrice({ body }, { signal: context.signal });
  if (args.has("json")) context.print(JSON.stringify(one, null, 2));
  else printList(context, args, { items: [one] }, TEXT);
  return EXIT.ok;
}

async function rm(context: Context, args: Arguments): Promise<number> {
  const [, model = ""] = takePositionals(prices, args, 2, 2);
  const input = { params: { model } };
  const gone = await connect(context, args).deletePrice(input, { signal: context.signal });
  context.print(args.has("json") ? JSON.stringify(gone, null, 2) : `${toSafeLine(gone.model)} removed`);
  return EXIT.ok;
}

const ACTIONS: Readonly<Record<string, (context: Context, args: Arguments) => Promise<number>>> = { list, set, rm };

export const prices: Verb = {
  name: "prices",
  summary: "What tokens cost, by model.",
  usage: "[list] | set <model> | rm <model>",
  isRemote: true,
  details: "In US dollars for a million tokens. In a model's name * stands for anything.",
  flags: [
    { name: "input", value: "usd", doc: "For set: a million tokens of input." },
    { name: "output", value: "usd", doc: "For set: a million tokens of output." },
    { name: "cache-read", value: "usd", doc: "For set: read from a cache." },
    { name: "cache-write", value: "usd", doc: "For set: written to a cache." },
    { name: "window", value: "tokens", doc: "For set: how many tokens the model takes at once." },
  ],
  async run(context, args) {
    const [action = "list"] = args.positionals;
    const chosen = Object.hasOwn(ACTIONS, action) ? ACTIONS[action] : undefined;
    if (chosen === undefined) throw refuse();
    return chosen(context, args);
  },
};
