/** drover permissions: what an agent asks for. */
import type { Permission } from "@drover/contract";
import { takePositionals } from "../arguments.ts";
import { connect } from "../connection.ts";
import { EXIT } from "../exit-code.ts";
import { formatTable } from "../table.ts";
import type { Verb } from "../verb.ts";

const PAGE = 100;

const toOutcome = ({ state, decision, by }: Permission) => (decision === null ? state : `${decision} by ${by}`);

export const permissions: Verb = {
  name: "permissions",
  summary: "List what an agent asks for.",
  usage: "<id> [flags]",
  isRemote: true,
  flags: [{ name: "all", short: "a", doc: "Also what was answered." }],
  details: "Answer with `drover answer`.",
  async run(context, args) {
    const [sandbox_id = ""] = takePositionals(permissions, args, 1, 1);
    const client = connect(context, args);
    const items: Permission[] = [];
    let cursor: string | undefined;
    do {
      const query = { limit: PAGE, cursor, ...(args.has("all") ? {} : { state: "open" as const }) };
      const page = await client.listPermissions({ params: { sandbox_id }, query }, { signal: context.signal });
      items.push(...page.items);
      cursor = page.next_cursor ?? undefined;
    } while (cursor !== undefined);
    if (args.has("json")) context.print(JSON.stringify(items, null, 2));
    else if (items.length === 0) context.print("The agent asks for nothing.");
    else {
      const rows = items.map((one) => [
        one.request_id,
        toOutcome(one),
        one.kind === "question" ? "question" : one.tool,
        JSON.stringify(one.input),
      ]);
      for (const line of formatTable(["REQUEST", "STATE", "TOOL", "INPUT"], rows, context.width)) context.print(line);
    }
    return EXIT.ok;
  },
};
