/** drover token: credentials of people and programs. */
import { Role, type Token } from "@drover/contract";
import { takePositionals } from "../arguments.ts";
import { connect } from "../connection.ts";
import { toElapsed } from "../elapsed.ts";
import { EXIT, UsageError } from "../exit-code.ts";
import { formatTable } from "../table.ts";
import type { Arguments, Context, Verb } from "../verb.ts";

const toState = (one: Token, now: Date): string => {
  if (one.revoked_at !== null) return "revoked";
  return one.expires_at !== null && Date.parse(one.expires_at) <= now.getTime() ? "expired" : "valid";
};

function formatTokens(tokens: readonly Token[], now: Date, width: number): readonly string[] {
  const ago = (time: string | null) => (time === null ? "never" : `${toElapsed(time, now)} ago`);
  const rows = tokens.map((one) => [
    one.id,
    one.role,
    toState(one, now),
    ago(one.last_used_at),
    one.project_id === null ? "all" : "one project",
    one.name,
  ]);
  return formatTable(["ID", "ROLE", "STATE", "USED", "SCOPE", "NAME"], rows, width);
}

async function create(context: Context, args: Arguments): Promise<number> {
  const [, name = ""] = takePositionals(token, args, 2, 2);
  const role = Role.safeParse(args.get("role") ?? "operator").data;
  if (role === undefined) throw new UsageError(`--role is one of ${Role.options.join(", ")}`, token.name);
  const project_id = args.get("project");
  const expires = args.get("expires");
  if (expires !== undefined && Number.isNaN(Date.parse(expires)))
    throw new UsageError("--expires takes a time such as 2030-01-31T00:00:00Z", token.name);
  const body = {
    name,
    role,
    ...(project_id === undefined ? {} : { project_id }),
    ...(expires === undefined ? {} : { expires_at: new Date(expires).toISOString() }),
  };
  const created = await connect(context, args).createToken({ body }, { signal: context.signal });
  if (args.has("json")) context.print(JSON.stringify(created, null, 2));
  else {
    // Only the secret goes to standard output, so that it can be piped into a file.
    context.warn(`${created.id} (${created.role}): shown this once.`);
    context.print(created.token);
  }
  return EXIT.ok;
}

async function list(context: Context, args: Arguments): Promise<number> {
  takePositionals(token, args, 1, 1);
  const client = connect(context, args);
  const items: Token[] = [];
  let cursor: string | undefined;
  do {
    const page = await client.listTokens({ query: { limit: 500, cursor } }, { signal: context.signal });
    items.push(...page.items);
    cursor = page.next_cursor ?? undefined;
  } while (cursor !== undefined);
  if (args.has("json")) context.print(JSON.stringify(items, null, 2));
  else for (const line of formatTokens(items, context.now(), context.width)) context.print(line);
  return EXIT.ok;
}

async function revoke(context: Context, args: Arguments): Promise<number> {
  const [, token_id = ""] = takePositionals(token, args, 2, 2);
  const revoked = await connect(context, args).revokeToken({ params: { token_id } }, { signal: context.signal });
  context.print(args.has("json") ? JSON.stringify(revoked, null, 2) : `${revoked.id} revoked`);
  return EXIT.ok;
}

const ACTIONS: Readonly<Record<string, (context: Context, args: Arguments) => Promise<number>>> = {
  create,
  list,
  revoke,
};

export const token: Verb = {
  name: "token",
  summary: "Create, list and revoke tokens.",
  usage: "create <name> | list | revoke <id>",
  isRemote: true,
  flags: [
    { name: "role", value: "role", doc: "For create: viewer, operator or admin (operator)." },
    { name: "project", value: "id", doc: "For create: only for this project." },
    { name: "expires", value: "time", doc: "For create: not valid after this time (ISO-8601)." },
  ],
  async run(context, args) {
    const [action = ""] = args.positionals;
    const chosen = Object.hasOwn(ACTIONS, action) ? ACTIONS[action] : undefined;
    if (chosen === undefined) throw new UsageError(`usage: drover ${token.name} ${token.usage}`, token.name);
    return chosen(context, args);
  },
};
