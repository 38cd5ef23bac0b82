/** The log, page after page by place, so that nothing comes twice and nothing is left out while it grows. */
import type { Client } from "@drover/client";
import type { EventSource, StoredEvent } from "@drover/contract";

const PAGE = 500;

export interface EventFilter {
  readonly event_type?: string[] | undefined;
  readonly source?: EventSource | undefined;
  /** Given: oldest first from there on. Otherwise newest first. */
  readonly after_seq?: number | undefined;
  readonly before_seq?: number | undefined;
}

type Reading = readonly [
  client: Client,
  /** Undefined: of all that the token may see. */
  sandbox_id: string | undefined,
  filter: EventFilter,
  limit: number,
  signal: AbortSignal,
];

export async function* readEvents(
  ...[client, sandbox_id, filter, limit, signal]: Reading
): AsyncGenerator<StoredEvent> {
  const isForward = filter.after_seq !== undefined;
  let place = isForward ? filter.after_seq : filter.before_seq;
  for (let left = limit; left > 0;) {
    const from = isForward
      ? { after_seq: place, order: "asc" as const }
      : { before_seq: place, order: "desc" as const };
    const query = { ...filter, ...from, limit: Math.min(PAGE, left) };
    const page =
      sandbox_id === undefined
        ? await client.listEvents({ query }, { signal })
        : await client.listSandboxEvents({ params: { sandbox_id }, query }, { signal });
    yield* page.events;
    left -= page.events.length;
    place = page.events.at(-1)?.seq ?? place;
    // A page may be short because its events are large: only the server knows whether more follows.
    if (!page.has_more) return;
  }
}

export async function listEvents(...reading: Reading): Promise<StoredEvent[]> {
  const found: StoredEvent[] = [];
  for await (const event of readEvents(...reading)) found.push(event);
  return found;
}
