/** drover webhook: which events are told to other programs, and how that goes. */
import { DeliveryState, type Delivery, type Webhook } from "@drover/contract";
import { takePositionals } from "../arguments.ts";
import { connect } from "../connection.ts";
import { EXIT, UsageError } from "../exit-code.ts";
import { printList } from "../list-text.ts";
import type { Arguments, Context, Verb } from "../verb.ts";

const refuse = () => new UsageError(`usage: drover ${webhook.name} ${webhook.usage}`, webhook.name);

const HOOKS = {
  header: ["ID", "STATE", "EVENTS", "URL"],
  toRow: (one: Webhook) => [
    one.id,
    one.is_enabled ? "on" : one.disabled_reason === null ? "off" : "gone",
    one.event_types.join(",") || "all",
    one.url,
  ],
  nothing: "There are no webhooks.",
} as const;

const DELIVERIES = {
  header: ["ID", "STATE", "TRIES", "ANSWER", "EVENT"],
  toRow: (one: Delivery) => [
    one.id,
    one.state,
    String(one.attempts),
    one.last_status === null ? (one.last_error ?? "-").slice(0, 20) : String(one.last_status),
    one.event_type,
  ],
  nothing: "Nothing was sent.",
} as const;

function tell(context: Context, args: Arguments, one: Webhook & { readonly secret?: string }): number {
  if (args.has("json")) context.print(JSON.stringify(one, null, 2));
  else {
    printList(context, args, { items: [one] }, HOOKS);
    if (one.secret !== undefined) context.print(`secret (told once): ${one.secret}`);
  }
  return EXIT.ok;
}

async function list(context: Context, args: Arguments): Promise<number> {
  takePositionals(webhook, args, 0, 1);
  const query = { limit: 500, project_id: args.get("project") };
  printList(context, args, await connect(context, args).listWebhooks({ query }, { signal: context.signal }), HOOKS);
  return EXIT.ok;
}

async function create(context: Context, args: Arguments): Promise<number> {
  const [, url = ""] = takePositionals(webhook, args, 2, 2);
  const project_id = args.get("project");
  const body = {
    url,
    event_types: [...args.all("event")],
    ...(project_id === undefined ? {} : { project_id }),
    description: args.get("description") ?? "",
  };
  return tell(context, args, await connect(context, args).createWebhook({ body }, { signal: context.signal }));
}

const toSwitch = (is_enabled: boolean) => async (context: Context, args: Arguments) => {
  const [, webhook_id = ""] = takePositionals(webhook, args, 2, 2);
  const input = { params: { webhook_id }, body: { is_enabled } };
  return tell(context, args, await connect(context, args).changeWebhook(input, { signal: context.signal }));
};

async function rm(context: Context, args: Arguments): Promise<number> {
  const [, webhook_id = ""] = takePositionals(webhook, args, 2, 2);
  const gone = await connect(context, args).deleteWebhook({ params: { webhook_id } }, { signal: context.signal });
  context.print(args.has("json") ? JSON.stringify(gone, null, 2) : `${gone.id} removed`);
  return EXIT.ok;
}

async function rotate(context: Context, args: Arguments): Promise<number> {
  const [, webhook_id = ""] = takePositionals(webhook, args, 2, 2);
  const input = { params: { webhook_id } };
  return tell(context, args, await connect(context, args).rotateWebhook(input, { signal: context.signal }));
}

function tellDelivery(context: Context, args: Arguments, one: Delivery): number {
  if (args.has("json")) context.print(JSON.stringify(one, null, 2));
  else printList(context, args, { items: [one] }, DELIVERIES);
  return EXIT.ok;
}

async function ping(context: Context, args: Arguments): Promise<number> {
  const [, webhook_id = ""] = takePositionals(webhook, args, 2, 2);
  const input = { params: { webhook_id } };
  return tellDelivery(context, args, await connect(context, args).pingWebhook(input, { signal: context.signal }));
}

async function log(context: Context, args: Arguments): Promise<number> {
  const [, webhook_id = ""] = takePositionals(webhook, args, 2, 2);
  const given = args.get("state");
  const state = DeliveryState.safeParse(given).data;
  if (given !== undefined && state === undefined)
    throw new UsageError(`--state ${given}: there is only ${DeliveryState.options.join(", ")}`, webhook.name);
  const input = { params: { webhook_id }, query: { limit: 100, state } };
  printList(context, args, await connect(context, args).listDeliveries(input, { signal: context.signal }), DELIVERIES);
  return EXIT.ok;
}

async function redeliver(context: Context, args: Arguments): Promise<number> {
  const [, webhook_id = "", delivery_id = ""] = takePositionals(webhook, args, 3, 3);
  const input = { params: { webhook_id, delivery_id } };
  return tellDelivery(context, args, await connect(context, args).redeliver(input, { signal: context.signal }));
}

const ACTIONS: Readonly<Record<string, (context: Context, args: Arguments) => Promise<number>>> = {
  list,
  create,
  on: toSwitch(true),
  off: toSwitch(false),
  rm,
  rotate,
  ping,
  log,
  redeliver,
};

export const webhook: Verb = {
  name: "webhook",
  summary: "Tell events to other programs.",
  usage: "[list] | create <url> | on|off|rm|rotate|ping|log <id> | redeliver <id> <delivery>",
  isRemote: true,
  details:
    "Events are sent as CloudEvents, signed as Standard Webhooks has it (docs/WEBHOOKS.md). create and rotate tell the secret once.",
  flags: [
    { name: "event", value: "type", many: true, doc: "For create: only these types; agent.* for a beginning." },
    { name: "project", value: "id", doc: "Of one project." },
    { name: "description", value: "text", doc: "For create: what it is for." },
    { name: "state", value: "state", doc: "For log: pending, delivered or failed." },
  ],
  async run(context, args) {
    const [action = "list"] = args.positionals;
    const chosen = Object.hasOwn(ACTIONS, action) ? ACTIONS[action] : undefined;
    if (chosen === undefined) throw refuse();
    return chosen(context, args);
  },
};
