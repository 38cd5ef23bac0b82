/** drover query: events by filter, of one sandbox or of all that this token may see. */
import { toLogEvent, type Client } from "@drover/client";
import { EventSource } from "@drover/contract";
import { parseCount, takePositionals } from "../arguments.ts";
import { connect } from "../connection.ts";
import { formatEvent } from "../event-line.ts";
import { EXIT, UsageError } from "../exit-code.ts";
import { formatTable } from "../table.ts";
import type { Arguments, Verb } from "../verb.ts";

const PAGE = 500;
const SHOWN = 100;

function toFilter(args: Arguments) {
  const source = args.get("source");
  const known = EventSource.safeParse(source).data;
  if (source !== undefined && known === undefined)
    throw new UsageError(`--source ${source}: there is only ${EventSource.options.join(", ")}`, query.name);
  const types = args.all("type");
  return {
    event_type: types.length === 0 ? undefined : [...types],
    source: known,
    after_seq: parseCount(query, args, "after-seq"),
    before_seq: parseCount(query, args, "before-seq"),
  };
}

type Filter = ReturnType<typeof toFilter>;

/** Newest first, or with `after_seq` oldest first, as the server has it. */
async function readPages(
  client: Client,
  sandbox_id: string | undefined,
  filter: Filter,
  limit: number,
  signal: AbortSignal,
) {
  const found: Awaited<ReturnType<Client["listEvents"]>>["events"] = [];
  for (let offset = 0; found.length < limit;) {
    const asked = { ...filter, limit: Math.min(PAGE, limit - found.length), offset };
    const page =
      sandbox_id === undefined
        ? await client.listEvents({ query: asked }, { signal })
        : await client.listSandboxEvents({ params: { sandbox_id }, query: asked }, { signal });
    found.push(...page.events);
    offset += page.events.length;
    if (page.events.length < asked.limit) break;
  }
  return found;
}

export const query: Verb = {
  name: "query",
  summary: "Find events by type, source and place in the log.",
  usage: "[id] [flags]",
  isRemote: true,
  flags: [
    { name: "type", value: "type", many: true, doc: "Only events of this type; may be repeated." },
    { name: "source", value: "source", doc: "Only from: agent, worker, system, user, guardian, server." },
    { name: "after-seq", value: "seq", doc: "Only after this seq; then oldest first." },
    { name: "before-seq", value: "seq", doc: "Only before this seq." },
    { name: "limit", short: "n", value: "count", doc: "At most this many (100)." },
    { name: "count", doc: "Say how many there are of each type, instead of the events." },
  ],
  details: "Without an id: the events of every project this token may see. With --json each line is one event.",
  async run(context, args) {
    const [sandbox_id] = takePositionals(query, args, 0, 1);
    const filter = toFilter(args);
    const isCounting = args.has("count");
    const limit = parseCount(query, args, "limit") ?? (isCounting ? 100_000 : SHOWN);
    const found = await readPages(connect(context, args), sandbox_id, filter, limit, context.signal);
    if (isCounting) {
      const counts = [...Map.groupBy(found, (event) => event.event_type)].map(
        ([type, of]) => [type, of.length] as const,
      );
      const sorted = counts.toSorted(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
      if (args.has("json")) context.print(JSON.stringify(Object.fromEntries(sorted), null, 2));
      else
        for (const line of formatTable(
          ["COUNT", "TYPE"],
          sorted.map(([type, n]) => [String(n), type]),
          context.width,
        ))
          context.print(line);
      return EXIT.ok;
    }
    for (const event of found) {
      const known = toLogEvent(event);
      if (args.has("json")) context.print(JSON.stringify(event));
      else if (known !== undefined) context.print(formatEvent(known, context.width, context.paint));
      else context.print(`${String(event.seq).padStart(5)}  ${event.created_at.slice(11, 19)}  ${event.event_type}`);
    }
    if (found.length === 0 && !args.has("json")) context.print("No event matches.");
    return EXIT.ok;
  },
};
