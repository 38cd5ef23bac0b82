/** drover events: the log of a sandbox, and what is added to it. */
import { toLogEvent, type Client, type LogEvent } from "@drover/client";
import { toPublishedType } from "@drover/contract";
import { parseCount, takePositionals } from "../arguments.ts";
import { connect } from "../connection.ts";
import { formatEvent } from "../event-line.ts";
import { EXIT } from "../exit-code.ts";
import type { Verb } from "../verb.ts";

const PAGE = 500;
const NEWEST = 100;

interface Wanted {
  readonly sandbox_id: string;
  readonly types: readonly string[];
  /** Undefined: the newest `limit`. */
  readonly afterSeq: number | undefined;
  readonly limit: number | undefined;
}

/** Oldest first, page by page. */
async function* readLog(client: Client, wanted: Wanted, signal: AbortSignal): AsyncGenerator<LogEvent> {
  const params = { sandbox_id: wanted.sandbox_id };
  const event_type = wanted.types.length === 0 ? undefined : [...wanted.types];
  if (wanted.afterSeq === undefined) {
    const newestFirst: LogEvent[] = [];
    let before_seq: number | undefined;
    for (let left = Math.min(PAGE, wanted.limit ?? NEWEST); left > 0;) {
      const query = { limit: left, event_type, before_seq, order: "desc" } as const;
      const page = await client.listSandboxEvents({ params, query }, { signal });
      newestFirst.push(...page.events.flatMap((event) => toLogEvent(event) ?? []));
      left -= page.events.length;
      before_seq = page.events.at(-1)?.seq;
      if (!page.has_more) break;
    }
    yield* newestFirst.toReversed();
    return;
  }
  let left = wanted.limit ?? Number.POSITIVE_INFINITY;
  for (let after_seq = wanted.afterSeq; left > 0;) {
    const limit = Math.min(PAGE, left);
    const page = await client.listSandboxEvents(
      { params, query: { limit, event_type, after_seq, order: "asc" } },
      { signal },
    );
    yield* page.events.flatMap((event) => toLogEvent(event) ?? []);
    left -= page.events.length;
    after_seq = page.events.at(-1)?.seq ?? after_seq;
    if (!page.has_more) return;
  }
}

async function* followLog(
  client: Client,
  wanted: Wanted,
  afterSeq: number,
  signal: AbortSignal,
): AsyncGenerator<LogEvent> {
  const event_types = wanted.types.map((type) => toPublishedType(type, wanted.sandbox_id));
  const filter = { entity_types: ["sandbox"], entity_ids: [wanted.sandbox_id], event_types };
  for await (const frame of client.events({ filter, afterSeq, signal })) {
    const event = toLogEvent(frame);
    if (event !== undefined) yield event;
  }
}

export const events: Verb = {
  name: "events",
  summary: "Print a sandbox's events, oldest first.",
  usage: "<id> [flags]",
  isRemote: true,
  flags: [
    { name: "follow", short: "f", doc: "Go on with new ones, through restarts of the server, until interrupted." },
    { name: "after-seq", value: "seq", doc: "Everything after this seq, instead of the newest 100." },
    { name: "type", value: "type", many: true, doc: "Only events of this type; may be repeated." },
    { name: "limit", short: "n", value: "count", doc: "At most this many before following." },
  ],
  details: "With --json each line is one event. No event is printed twice, and none is left out.",
  async run(context, args) {
    const [sandbox_id = ""] = takePositionals(events, args, 1, 1);
    const afterSeq = parseCount(events, args, "after-seq");
    const wanted: Wanted = { sandbox_id, types: args.all("type"), afterSeq, limit: parseCount(events, args, "limit") };
    const client = connect(context, args);
    let lastSeq = afterSeq ?? 0;
    const print = (event: LogEvent) => {
      lastSeq = event.seq;
      context.print(args.has("json") ? JSON.stringify(event) : formatEvent(event, context.width, context.paint));
    };
    for await (const event of readLog(client, wanted, context.signal)) print(event);
    if (args.has("follow")) for await (const event of followLog(client, wanted, lastSeq, context.signal)) print(event);
    return EXIT.ok;
  },
};
