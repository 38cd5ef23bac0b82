/** drover ls: sandboxes, newest first. */
import type { Sandbox } from "@drover/contract";
import { SandboxState } from "@drover/contract";
import { parseCount, takePositionals } from "../arguments.ts";
import { connect } from "../connection.ts";
import { EXIT, UsageError } from "../exit-code.ts";
import { formatSandboxes } from "../sandbox-text.ts";
import type { Arguments, Verb } from "../verb.ts";

const AT_WORK: readonly SandboxState[] = ["pending", "creating", "running", "paused", "completing"];
const PAGE = 100;
const RECENT = 10;

function pickStates(args: Arguments): readonly SandboxState[] | undefined {
  if (args.has("all") || args.has("recent")) return undefined;
  const given = args.all("status");
  if (given.length === 0) return AT_WORK;
  return given.map((text) => {
    const { data } = SandboxState.safeParse(text);
    if (data === undefined)
      throw new UsageError(`--status ${text}: there is only ${SandboxState.options.join(", ")}`, "ls");
    return data;
  });
}

export const ls: Verb = {
  name: "ls",
  summary: "List sandboxes, newest first.",
  usage: "[flags]",
  isRemote: true,
  flags: [
    { name: "recent", doc: "The newest 10 (or --limit), also those that have ended." },
    { name: "all", short: "a", doc: "Also those that have ended." },
    { name: "status", value: "state", many: true, doc: "Only those in this state; may be repeated." },
    { name: "project", value: "id", doc: "Only those of this project." },
    { name: "search", short: "q", value: "text", doc: "Only those that match the text." },
    { name: "limit", short: "n", value: "count", doc: "At most this many (100)." },
  ],
  async run(context, args) {
    takePositionals(ls, args, 0, 0);
    const limit = parseCount(ls, args, "limit") ?? (args.has("recent") ? RECENT : PAGE);
    const status = pickStates(args);
    const client = connect(context, args);
    const items: Sandbox[] = [];
    let cursor: string | undefined;
    do {
      const query = {
        limit: Math.min(PAGE, Math.max(1, limit - items.length)),
        cursor,
        status: status === undefined ? undefined : [...status],
        project_id: args.get("project"),
        q: args.get("search"),
      };
      const page = await client.listSandboxes({ query }, { signal: context.signal });
      items.push(...page.items);
      cursor = page.next_cursor ?? undefined;
    } while (cursor !== undefined && items.length < limit);
    const shown = items.slice(0, limit);
    if (args.has("json")) context.print(JSON.stringify(shown, null, 2));
    else if (shown.length === 0)
      context.print(
        status === AT_WORK ? "No sandbox is at work; `drover ls --all` lists those that ended." : "No sandbox matches.",
      );
    else for (const line of formatSandboxes(shown, context.now(), context.width)) context.print(line);
    return EXIT.ok;
  },
};
