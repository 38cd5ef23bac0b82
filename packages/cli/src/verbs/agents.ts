/** drover agents: agents that are installed on demand. */
import { type AgentPackage, AgentPackageName } from "@drover/contract";
import { takePositionals } from "../arguments.ts";
import { connect } from "../connection.ts";
import { EXIT, UsageError } from "../exit-code.ts";
import { formatTable } from "../table.ts";
import type { Arguments, Context, Verb } from "../verb.ts";

const LOOK_EVERY_MS = 500;
const MEGABYTE = 1_000_000;

const toSize = (bytes: number) => `${Math.round(bytes / MEGABYTE)} MB`;
const toState = (one: AgentPackage) =>
  one.state === "installing" ? `installing, ${one.progress_percent ?? 0} %` : one.state;

function takeName(args: Arguments) {
  const [, given = ""] = takePositionals(agents, args, 2, 2);
  const name = AgentPackageName.safeParse(given).data;
  if (name === undefined)
    throw new UsageError(`${JSON.stringify(given)} is none of ${AgentPackageName.options.join(", ")}`, agents.name);
  return name;
}

function tell(context: Context, args: Arguments, one: AgentPackage, text: string): void {
  context.print(args.has("json") ? JSON.stringify(one, null, 2) : text);
}

async function list(context: Context, args: Arguments): Promise<number> {
  takePositionals(agents, args, 1, 1);
  const { items } = await connect(context, args).listAgentPackages({}, { signal: context.signal });
  if (args.has("json")) context.print(JSON.stringify(items, null, 2));
  else {
    const rows = items.map((one) => [one.name, one.version, toState(one), toSize(one.size_bytes), one.title]);
    for (const line of formatTable(["NAME", "VERSION", "STATE", "SIZE", "TITLE"], rows, context.width))
      context.print(line);
  }
  return EXIT.ok;
}

async function install(context: Context, args: Arguments): Promise<number> {
  const name = takeName(args);
  const client = connect(context, args);
  const { signal } = context;
  let one = await client.installAgentPackage({ params: { name } }, { signal });
  let told = "";
  while (one.state === "installing" && !signal.aborted) {
    const text = `${one.title} ${one.version}: ${one.progress_percent ?? 0} % of about ${toSize(one.size_bytes)}`;
    if (text !== told) context.warn(text);
    told = text;
    await context.wait(LOOK_EVERY_MS);
    const { items } = await client.listAgentPackages({}, { signal });
    one = items.find((each) => each.name === name) ?? one;
  }
  if (one.state !== "installed") {
    context.warn(`${name} was not installed: ${one.detail ?? one.state}`);
    return EXIT.failed;
  }
  tell(context, args, one, `${one.title} ${one.version} is installed`);
  return EXIT.ok;
}

async function remove(context: Context, args: Arguments): Promise<number> {
  const name = takeName(args);
  const one = await connect(context, args).removeAgentPackage({ params: { name } }, { signal: context.signal });
  tell(context, args, one, `${one.title} is removed`);
  return EXIT.ok;
}

const ACTIONS: Readonly<Record<string, (context: Context, args: Arguments) => Promise<number>>> = {
  install,
  list,
  remove,
};

export const agents: Verb = {
  name: "agents",
  summary: "Install, list and remove agents.",
  usage: "list | install <name> | remove <name>",
  isRemote: true,
  flags: [],
  async run(context, args) {
    const [action = ""] = args.positionals;
    const chosen = Object.hasOwn(ACTIONS, action) ? ACTIONS[action] : undefined;
    if (chosen === undefined) throw new UsageError(`usage: drover ${agents.name} ${agents.usage}`, agents.name);
    return chosen(context, args);
  },
};
