/** The part of a run's log that a moment is shown from: all of it when it has come; until then its end, or what lies around the moment. */
import { toLogEvent, type LogEvent, type LogSnapshot } from "@drover/client";
import { useQuery } from "@tanstack/react-query";
import { client } from "../data/client.ts";
import { useSettled } from "./use-settled.ts";

const NO_EVENTS: readonly LogEvent[] = [];
/** A look at a moment is this many events, of which at least half come before it. */
const CHUNK = 80;
const SETTLED_MS = 150;

async function readAround(sandboxId: string, chunk: number, signal: AbortSignal): Promise<readonly LogEvent[]> {
  const last = (chunk + 1) * CHUNK;
  const events: LogEvent[] = [];
  // A page may end early where its events are large.
  for (let offset = Math.max(0, last - 2 * CHUNK); offset < last;) {
    const page = await client.listSandboxEvents(
      { params: { sandbox_id: sandboxId }, query: { order: "asc", offset, limit: last - offset } },
      { signal },
    );
    events.push(...page.events.flatMap((event) => toLogEvent(event) ?? []));
    if (!page.has_more || page.events.length === 0) break;
    offset += page.events.length;
  }
  return events;
}

const holds = (events: readonly LogEvent[], at: number): boolean =>
  at >= (events[0]?.sandbox_seq ?? Number.POSITIVE_INFINITY) && at <= (events.at(-1)?.sandbox_seq ?? 0);

export interface ReplayLog {
  readonly events: readonly LogEvent[];
  /** Nothing more is coming but what happens. */
  readonly isWhole: boolean;
  /** sandbox_seq of the first and the last event of the run. */
  readonly first: number;
  readonly last: number;
  /** How many of them have come. */
  readonly count: number;
}

/** `at`: the moment that is looked at; undefined stands for the end. */
export function useReplayLog(sandboxId: string, log: LogSnapshot | undefined, at: number | undefined): ReplayLog {
  const own = log?.events ?? NO_EVENTS;
  const isWhole = log !== undefined && !log.isLoading;
  const here = useSettled(at, SETTLED_MS);
  const isAway = !isWhole && here !== undefined && here < (own[0]?.sandbox_seq ?? 0);
  const chunk = Math.floor(((here ?? 1) - 1) / CHUNK);
  const around = useQuery({
    queryKey: ["replay-around", sandboxId, chunk] as const,
    queryFn: ({ signal }) => readAround(sandboxId, chunk, signal),
    enabled: isAway,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
  });
  const found = around.data ?? NO_EVENTS;
  const isFound = !isWhole && at !== undefined && !holds(own, at) && holds(found, at);
  return {
    events: isFound ? found : own,
    isWhole,
    first: isWhole ? (own[0]?.sandbox_seq ?? 1) : 1,
    // What comes first is the end.
    last: own.at(-1)?.sandbox_seq ?? 0,
    count: own.length,
  };
}
