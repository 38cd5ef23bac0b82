/** drover query: events by filter, of one sandbox or of all that this token may see. */
import { toLogEvent } from "@drover/client";
import { EventSource, type StoredEvent } from "@drover/contract";
import { parseCount, takePositionals } from "../arguments.ts";
import { connect } from "../connection.ts";
import { formatEvent } from "../event-line.ts";
import { EXIT, UsageError } from "../exit-code.ts";
import { readEvents } from "../read-events.ts";
import { formatTable } from "../table.ts";
import { cut } from "../terminal.ts";
import type { Arguments, Verb } from "../verb.ts";

const SHOWN = 100;
/** Of a sandbox, with a gap behind. */
const ID_WIDTH = 25;

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
    const limit = parseCount(query, args, "limit") ?? (isCounting ? Number.POSITIVE_INFINITY : SHOWN);
    const found = readEvents(connect(context, args), sandbox_id, filter, limit, context.signal);
    if (isCounting) {
      const counts = new Map<string, number>();
      for await (const { event_type } of found) counts.set(event_type, (counts.get(event_type) ?? 0) + 1);
      const sorted = [...counts].toSorted(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
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
    const toPlace = (event: StoredEvent) =>
      sandbox_id === undefined ? (event.sandbox_id ?? "-").padEnd(ID_WIDTH) : "";
    let shown = 0;
    for await (const event of found) {
      shown += 1;
      const known = toLogEvent(event);
      if (args.has("json")) context.print(JSON.stringify(event));
      else if (known !== undefined) {
        const place = toPlace(event);
        context.print(place + formatEvent(known, context.width - place.length, context.paint));
      } else
        context.print(
          cut(
            `${toPlace(event)}${"".padStart(5)}  ${event.created_at.slice(11, 19)}  ${event.event_type}`,
            context.width,
          ),
        );
    }
    if (shown === 0 && !args.has("json")) context.print("No event matches.");
    return EXIT.ok;
  },
};
