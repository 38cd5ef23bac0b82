/** Says that the worker lives, by its own timer, however busy the agent is. */
import { API_BASE, type NewEvent } from "@drover/contract";
import type { Activity } from "./activity.ts";
import type { Clock } from "./clock.ts";
import type { Load } from "./measure-load.ts";
import type { Outbox } from "./outbox.ts";
import type { Transport } from "./transport.ts";

const DIRECT_TIMEOUT_MS = 10_000;

export interface HeartbeatParts {
  readonly outbox: Outbox;
  readonly transport: Transport;
  readonly sandboxId: string;
  readonly clock: Clock;
  readonly everyMs: number;
  readonly getActivity: () => Activity;
  readonly getTurn: () => number;
  readonly measureLoad: () => Load | undefined;
}

interface Beat {
  readonly activity: Activity;
  readonly turn: number;
  readonly eventCount: number;
  readonly load: Load | undefined;
}

export function toHeartbeat({ activity, turn, eventCount, load }: Beat, now: Date): NewEvent {
  const { status, tools } = activity;
  const tool = tools.at(-1);
  const ageSeconds = tool === undefined ? 0 : Math.max(0, Math.round((now.getTime() - tool.since.getTime()) / 1_000));
  return {
    event_type: "agent.heartbeat",
    source: "worker",
    event_data: {
      turn,
      timestamp: now.toISOString(),
      status,
      event_count: eventCount,
      ...(tool === undefined ? {} : { tool: tool.name, tool_age_s: ageSeconds }),
      ...(load === undefined ? {} : { memory_bytes: load.memoryBytes }),
      ...(load?.cpuPercent === undefined ? {} : { cpu_percent: load.cpuPercent }),
    },
  };
}

export function startHeartbeat(parts: HeartbeatParts, signal: AbortSignal): { readonly done: Promise<void> } {
  const { outbox, clock } = parts;
  let last: number | undefined;

  /** The disk or the outbox is full: the server is told directly, because a silent worker looks dead. */
  const sendDirectly = () =>
    parts.transport.send(
      {
        method: "POST",
        path: `${API_BASE}/sandboxes/${parts.sandboxId}/heartbeat`,
        timeoutMs: DIRECT_TIMEOUT_MS,
        body: JSON.stringify({
          status: "degraded",
          detail: { reason: "the journal cannot grow", pending: outbox.pending },
        }),
      },
      signal,
    );

  const beat = async () => {
    const event = toHeartbeat(
      { activity: parts.getActivity(), turn: parts.getTurn(), eventCount: outbox.last, load: parts.measureLoad() },
      clock.now(),
    );
    // While one waits for the server it is brought up to date: an outage leaves one heartbeat, not hundreds.
    if (last !== undefined && outbox.amend(last, event)) return;
    last = await outbox.offer(event).catch(() => undefined);
    if (last === undefined) await sendDirectly();
  };

  const run = async () => {
    while (!signal.aborted) {
      await beat();
      await clock.sleep(parts.everyMs, signal);
    }
  };
  return { done: run() };
}
