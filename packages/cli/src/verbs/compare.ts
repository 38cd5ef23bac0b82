/** drover compare: two runs side by side. */
import type { Client } from "@drover/client";
import type { Sandbox } from "@drover/contract";
import { takePositionals } from "../arguments.ts";
import { connect } from "../connection.ts";
import { EXIT } from "../exit-code.ts";
import { toUsd } from "../money.ts";
import { readEvents } from "../read-events.ts";
import { formatTable } from "../table.ts";
import type { Verb } from "../verb.ts";

interface Run {
  readonly sandbox: Sandbox;
  /** Maps, because names are those that agents gave. */
  readonly counts: ReadonlyMap<string, number>;
  readonly seconds: number | null;
  readonly costUsd: number;
  readonly tokens: number;
  /** Of all edits of each file: lines added and removed over the whole run. */
  readonly files: ReadonlyMap<string, { readonly added: number; readonly removed: number }>;
}

const toNumber = (value: unknown): number => (typeof value === "number" ? value : 0);

async function readRun(client: Client, id: string, signal: AbortSignal): Promise<Run> {
  const params = { sandbox_id: id };
  const query = { scope_type: "sandbox" as const, scope_id: id };
  const [sandbox, costs] = await Promise.all([
    client.getSandbox({ params }, { signal }),
    client.summariseCosts({ query }, { signal }),
  ]);
  const counts = new Map<string, number>();
  const files = new Map<string, { readonly added: number; readonly removed: number }>();
  let first: number | undefined;
  let last: number | undefined;
  for await (const event of readEvents(client, id, { after_seq: 0 }, Number.POSITIVE_INFINITY, signal)) {
    const { event_type: type, event_data: data } = event;
    last = Date.parse(event.created_at);
    first ??= last;
    counts.set(type, (counts.get(type) ?? 0) + 1);
    const { file_path: path } = data;
    if (type !== "agent.file_edited" || typeof path !== "string") continue;
    const before = files.get(path) ?? { added: 0, removed: 0 };
    const added = before.added + toNumber(data["lines_added"]);
    files.set(path, { added, removed: before.removed + toNumber(data["lines_removed"]) });
  }
  return {
    sandbox,
    counts,
    seconds: first === undefined || last === undefined ? null : (last - first) / 1_000,
    costUsd: costs.total_cost,
    tokens: costs.total_tokens,
    files,
  };
}

const keysOf = (a: ReadonlyMap<string, unknown>, b: ReadonlyMap<string, unknown>): readonly string[] =>
  [...new Set([...a.keys(), ...b.keys()])].toSorted();

const toRows = (a: Run, b: Run): readonly (readonly [string, string, string])[] => [
  ["state", a.sandbox.state, b.sandbox.state],
  ["runtime", a.sandbox.runtime ?? "-", b.sandbox.runtime ?? "-"],
  ["seconds", a.seconds?.toFixed(1) ?? "-", b.seconds?.toFixed(1) ?? "-"],
  ["turns", String(a.sandbox.turn), String(b.sandbox.turn)],
  ["cost", toUsd(a.costUsd), toUsd(b.costUsd)],
  ["tokens", String(a.tokens), String(b.tokens)],
  ["events", String(a.sandbox.event_count), String(b.sandbox.event_count)],
  ...keysOf(a.counts, b.counts).map(
    (type) => [`  ${type}`, String(a.counts.get(type) ?? 0), String(b.counts.get(type) ?? 0)] as const,
  ),
  ["files", String(a.files.size), String(b.files.size)],
  ...keysOf(a.files, b.files).map((path) => {
    const tell = ({ files }: Run) => {
      const change = files.get(path);
      return change === undefined ? "-" : `+${change.added} -${change.removed}`;
    };
    return [`  ${path}`, tell(a), tell(b)] as const;
  }),
];

export const compare: Verb = {
  name: "compare",
  summary: "Put two runs side by side: events, time, cost and files.",
  usage: "<id> <id>",
  isRemote: true,
  flags: [{ name: "differences", doc: "Only lines in which they differ." }],
  async run(context, args) {
    const [one = "", other = ""] = takePositionals(compare, args, 2, 2);
    const client = connect(context, args);
    const [a, b] = await Promise.all([readRun(client, one, context.signal), readRun(client, other, context.signal)]);
    if (args.has("json")) {
      const toJson = ({ sandbox, counts, files, ...rest }: Run) => ({
        id: sandbox.id,
        state: sandbox.state,
        counts: Object.fromEntries(counts),
        ...rest,
        files: Object.fromEntries(files),
      });
      context.print(JSON.stringify({ a: toJson(a), b: toJson(b) }, null, 2));
      return EXIT.ok;
    }
    const rows = toRows(a, b).filter(([, x, y]) => !args.has("differences") || x !== y);
    // The name is what gives way: figures are what is compared.
    const table = rows.map(([name, x, y]) => [x, y, name]);
    for (const line of formatTable([one, other, "OF"], table, context.width)) context.print(line);
    return EXIT.ok;
  },
};
