/** drover compare: two runs side by side. */
import type { Client } from "@drover/client";
import type { Sandbox, StoredEvent } from "@drover/contract";
import { takePositionals } from "../arguments.ts";
import { connect } from "../connection.ts";
import { EXIT } from "../exit-code.ts";
import { toUsd } from "../money.ts";
import { formatTable } from "../table.ts";
import type { Verb } from "../verb.ts";

const PAGE = 500;
const EVENTS = 100_000;

interface Run {
  readonly sandbox: Sandbox;
  readonly counts: Readonly<Record<string, number>>;
  readonly seconds: number | null;
  readonly costUsd: number;
  readonly tokens: number;
  /** Of the last edit of each file: lines added and removed over the whole run. */
  readonly files: Readonly<Record<string, { readonly added: number; readonly removed: number }>>;
}

async function readAll(client: Client, sandbox_id: string, signal: AbortSignal): Promise<readonly StoredEvent[]> {
  const found: StoredEvent[] = [];
  for (let after_seq = 0; found.length < EVENTS;) {
    const query = { limit: PAGE, after_seq, order: "asc" as const };
    const { events } = await client.listSandboxEvents({ params: { sandbox_id }, query }, { signal });
    found.push(...events);
    after_seq = events.at(-1)?.seq ?? after_seq;
    if (events.length < PAGE) break;
  }
  return found;
}

const toNumber = (value: unknown): number => (typeof value === "number" ? value : 0);

function toFiles(events: readonly StoredEvent[]): Run["files"] {
  const files: Record<string, { added: number; removed: number }> = {};
  for (const { event_type, event_data } of events) {
    if (event_type !== "agent.file_edited") continue;
    const { file_path: path } = event_data;
    if (typeof path !== "string") continue;
    const before = files[path] ?? { added: 0, removed: 0 };
    files[path] = {
      added: before.added + toNumber(event_data["lines_added"]),
      removed: before.removed + toNumber(event_data["lines_removed"]),
    };
  }
  return files;
}

async function readRun(client: Client, id: string, signal: AbortSignal): Promise<Run> {
  const params = { sandbox_id: id };
  const query = { scope_type: "sandbox" as const, scope_id: id };
  const [sandbox, events, costs] = await Promise.all([
    client.getSandbox({ params }, { signal }),
    readAll(client, id, signal),
    client.summariseCosts({ query }, { signal }),
  ]);
  const times = events.map(({ created_at }) => Date.parse(created_at));
  const [first, last] = [times[0], times.at(-1)];
  const groups = Map.groupBy(events, ({ event_type }) => event_type);
  return {
    sandbox,
    counts: Object.fromEntries([...groups].map(([type, of]) => [type, of.length])),
    seconds: first === undefined || last === undefined ? null : (last - first) / 1_000,
    costUsd: costs.total_cost,
    tokens: costs.total_tokens,
    files: toFiles(events),
  };
}

const keysOf = (a: object, b: object): readonly string[] =>
  [...new Set([...Object.keys(a), ...Object.keys(b)])].toSorted();

const toRows = (a: Run, b: Run): readonly (readonly [string, string, string])[] => [
  ["state", a.sandbox.state, b.sandbox.state],
  ["runtime", a.sandbox.runtime ?? "-", b.sandbox.runtime ?? "-"],
  ["seconds", a.seconds?.toFixed(1) ?? "-", b.seconds?.toFixed(1) ?? "-"],
  ["turns", String(a.sandbox.turn), String(b.sandbox.turn)],
  ["cost", toUsd(a.costUsd), toUsd(b.costUsd)],
  ["tokens", String(a.tokens), String(b.tokens)],
  ["events", String(a.sandbox.event_count), String(b.sandbox.event_count)],
  ...keysOf(a.counts, b.counts).map(
    (type) => [`  ${type}`, String(a.counts[type] ?? 0), String(b.counts[type] ?? 0)] as const,
  ),
  ["files", String(Object.keys(a.files).length), String(Object.keys(b.files).length)],
  ...keysOf(a.files, b.files).map((path) => {
    const tell = (run: Run) =>
      run.files[path] === undefined ? "-" : `+${run.files[path].added} -${run.files[path].removed}`;
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
      const toJson = ({ sandbox, ...rest }: Run) => ({ id: sandbox.id, state: sandbox.state, ...rest });
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
