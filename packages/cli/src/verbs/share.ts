/** drover share: links by which anybody may watch one run. */
import { parseCount, takePositionals } from "../arguments.ts";
import { connect } from "../connection.ts";
import { EXIT, UsageError } from "../exit-code.ts";
import { printList } from "../list-text.ts";
import type { Arguments, Context, Verb } from "../verb.ts";

const SECONDS_PER_HOUR = 3_600;

async function create(context: Context, args: Arguments): Promise<number> {
  const [, sandbox_id = ""] = takePositionals(share, args, 2, 2);
  const hours = parseCount(share, args, "hours") ?? 7 * 24;
  const client = connect(context, args);
  const input = { params: { sandbox_id }, body: { expires_in_s: hours * SECONDS_PER_HOUR } };
  const made = await client.createShare(input, { signal: context.signal });
  context.print(args.has("json") ? JSON.stringify(made, null, 2) : `${client.baseUrl}${made.path}`);
  return EXIT.ok;
}

async function list(context: Context, args: Arguments): Promise<number> {
  const [, sandbox_id = ""] = takePositionals(share, args, 2, 2);
  const page = await connect(context, args).listShares({ params: { sandbox_id } }, { signal: context.signal });
  printList(context, args, page, {
    header: ["ID", "STATE", "UNTIL"],
    toRow: (one) => [one.id, one.revoked_at === null ? "open" : "revoked", one.expires_at],
    nothing: "Nobody watches by a link.",
  });
  return EXIT.ok;
}

async function revoke(context: Context, args: Arguments): Promise<number> {
  const [, sandbox_id = "", share_id = ""] = takePositionals(share, args, 3, 3);
  const gone = await connect(context, args).revokeShare(
    { params: { sandbox_id, share_id } },
    { signal: context.signal },
  );
  context.print(args.has("json") ? JSON.stringify(gone, null, 2) : `${gone.id} revoked`);
  return EXIT.ok;
}

const ACTIONS: Readonly<Record<string, (context: Context, args: Arguments) => Promise<number>>> = {
  create,
  list,
  revoke,
};

export const share: Verb = {
  name: "share",
  summary: "Make, list and revoke links to watch a run.",
  usage: "create <id> | list <id> | revoke <id> <link>",
  isRemote: true,
  flags: [{ name: "hours", value: "n", doc: "For create: how long it works (168)." }],
  details: "Who has the link reads that one run and nothing else. It is printed once.",
  async run(context, args) {
    const [action = ""] = args.positionals;
    const chosen = Object.hasOwn(ACTIONS, action) ? ACTIONS[action] : undefined;
    if (chosen === undefined) throw new UsageError(`usage: drover ${share.name} ${share.usage}`, share.name);
    return chosen(context, args);
  },
};
