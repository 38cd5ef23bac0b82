/** drover events: the log of a sandbox, and what is added to it. */
import { toLogEvent, type Client, type LogEvent } from "@drover/client";
import { toPublishedType } from "@drover/contract";
import { parseCount, takePositionals } from "../arguments.ts";
import { connect } from "../connection.ts";
import { formatEvent } from "../event-line.ts";
import { EXIT } from "../exit-code.ts";
import { listEvents, readEvents } from "../read-events.ts";
import type { Verb } from "../verb.ts";

const NEWEST = 100;

interface Wanted {
  readonly sandbox_id: string;
  readonly types: readonly string[];
  /** Undefined: the newest `limit`. */
  readonly afterSeq: number | undefined;
  readonly limit: number | undefined;
}

/** Oldest first. */
async function* readLog(client: Client, wanted: Wanted, signal: AbortSignal): AsyncGenerator<LogEvent> {
  const { sandbox_id, types, afterSeq } = wanted;
  const event_type = types.length === 0 ? undefined : [...types];
  const limit = wanted.limit ?? (afterSeq === undefined ? NEWEST : Number.POSITIVE_INFINITY);
  const reading = [client, sandbox_id, { event_type, after_seq: afterSeq }, limit, signal] as const;
  const inOrder = afterSeq === undefined ? (await listEvents(...reading)).toReversed() : readEvents(...reading);
  for await (const event of inOrder) yield* [toLogEvent(event) ?? []].flat();
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
