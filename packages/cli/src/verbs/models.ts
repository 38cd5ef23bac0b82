/** drover models: where each vendor's calls go, and with which key. */
import { type ModelUpstream, ModelProtocolName } from "@drover/contract";
import { takePositionals } from "../arguments.ts";
import { connect } from "../connection.ts";
import { EXIT, UsageError } from "../exit-code.ts";
import { printList } from "../list-text.ts";
import { readSecret } from "../read-secret.ts";
import type { Arguments, Context, Verb } from "../verb.ts";

const ORIGINS: Readonly<Record<ModelUpstream["origin"], string>> = {
  environment: "the server's settings",
  stored: "stored",
  none: "-",
};

const TEXT = {
  header: ["VENDOR", "KEY", "FROM", "ADDRESS"],
  toRow: (one: ModelUpstream) => [
    one.protocol,
    one.has_key ? "set" : "missing",
    ORIGINS[one.origin],
    one.base_url ?? "the vendor's own",
  ],
  nothing: "There are no vendors.",
} as const;

function takeVendor(args: Arguments): ModelProtocolName {
  const [, given = ""] = takePositionals(models, args, 2, 2);
  const vendor = ModelProtocolName.safeParse(given).data;
  if (vendor !== undefined) return vendor;
  throw new UsageError(`${JSON.stringify(given)} is none of ${ModelProtocolName.options.join(", ")}`, models.name);
}

function tell(context: Context, args: Arguments, one: ModelUpstream): number {
  if (args.has("json")) context.print(JSON.stringify(one, null, 2));
  else printList(context, args, { items: [one] }, TEXT);
  return EXIT.ok;
}

async function list(context: Context, args: Arguments): Promise<number> {
  takePositionals(models, args, 0, 1);
  printList(context, args, await connect(context, args).listUpstreams({}, { signal: context.signal }), TEXT);
  return EXIT.ok;
}

async function set(context: Context, args: Arguments): Promise<number> {
  const protocol = takeVendor(args);
  const [address, path] = [args.get("base-url"), args.get("key-file")];
  if (address === undefined && path === undefined)
    throw new UsageError("--key-file, --base-url or both say what is kept", models.name);
  const key =
    path === undefined
      ? undefined
      : path === "-"
        ? (await context.readInput()).trim()
        : readSecret(context, "key-file", path);
  const body = {
    ...(address === undefined ? {} : { base_url: address }),
    ...(key === undefined ? {} : { api_key: key }),
  };
  const input = { params: { protocol }, body };
  const one = await connect(context, args).putUpstream(input, { signal: context.signal });
  if (one.origin === "environment") context.warn("It is kept, but the server's own settings win over it.");
  return tell(context, args, one);
}

async function rm(context: Context, args: Arguments): Promise<number> {
  const input = { params: { protocol: takeVendor(args) } };
  return tell(context, args, await connect(context, args).deleteUpstream(input, { signal: context.signal }));
}

const ACTIONS: Readonly<Record<string, (context: Context, args: Arguments) => Promise<number>>> = { list, set, rm };

export const models: Verb = {
  name: "models",
  summary: "Connect vendors of models: their keys and addresses.",
  usage: "[list] | set <vendor> | rm <vendor>",
  isRemote: true,
  details:
    "A vendor is anthropic, openai or gemini. Keys are sealed in the server, never told again, and never enter a sandbox. Needs an admin's token.",
  flags: [
    { name: "key-file", value: "path", doc: "For set: file that holds the key; - reads it from standard input." },
    { name: "base-url", value: "address", doc: "For set: another address, such as a proxy or a compatible vendor." },
  ],
  async run(context, args) {
    const [action = "list"] = args.positionals;
    const chosen = Object.hasOwn(ACTIONS, action) ? ACTIONS[action] : undefined;
    if (chosen === undefined) throw new UsageError(`usage: drover ${models.name} ${models.usage}`, models.name);
    return chosen(context, args);
  },
};
