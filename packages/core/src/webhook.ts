/** Outbound webhooks: which events one is told, when a failed delivery is tried again, and what is said. */
import type { JsonObject } from "@drover/contract";

const HEARTBEATS: ReadonlySet<string> = new Set(["agent.heartbeat", "heartbeat", "spec.heartbeat"]);

/** None given: everything but heartbeats, which are told only to who names them. */
export function isTold(patterns: readonly string[], eventType: string): boolean {
  if (patterns.length === 0) return !HEARTBEATS.has(eventType);
  return patterns.some((pattern) =>
    pattern.endsWith("*") ? eventType.startsWith(pattern.slice(0, -1)) : pattern === eventType,
  );
}

export type DeliveryOutcome =
  | { readonly status: number; readonly retryAfterSeconds?: number }
  | { readonly error: string };

export type DeliveryStep =
  | { readonly state: "delivered" }
  /** The receiver says that nobody is there any more: nothing else is sent to it. */
  | { readonly state: "failed"; readonly isGone: boolean }
  | { readonly state: "pending"; readonly afterSeconds: number };

const GONE = 410;
const DAY_SECONDS = 86_400;

/** `attempts` counts the one that ended so. A receiver that asks for patience gets it, a day at the most. */
export function decideDelivery(
  outcome: DeliveryOutcome,
  attempts: number,
  retrySeconds: readonly number[],
): DeliveryStep {
  const status = "status" in outcome ? outcome.status : 0;
  if (status >= 200 && status < 300) return { state: "delivered" };
  if (status === GONE) return { state: "failed", isGone: true };
  const wait = retrySeconds[attempts - 1];
  if (wait === undefined) return { state: "failed", isGone: false };
  const asked = "retryAfterSeconds" in outcome ? (outcome.retryAfterSeconds ?? 0) : 0;
  return { state: "pending", afterSeconds: Math.min(DAY_SECONDS, Math.max(wait, asked)) };
}

export interface ToldEvent {
  readonly id: string;
  readonly seq: number | null;
  readonly sandbox_seq: number | null;
  readonly sandbox_id: string | null;
  readonly project_id: string | null;
  readonly entity_type: string;
  readonly entity_id: string;
  readonly event_type: string;
  readonly event_data: JsonObject;
  readonly source: string;
  readonly created_at: string;
}

/** CloudEvents 1.0, structured mode. Names of extensions are lower case and digits, as it wants them. */
export function toCloudEvent(event: ToldEvent, address: string): JsonObject {
  return {
    specversion: "1.0",
    id: event.id,
    source: event.sandbox_id === null ? address : `${address}/api/v1/sandboxes/${event.sandbox_id}`,
    type: `drover.${event.event_type}`,
    subject: `${event.entity_type}/${event.entity_id}`,
    time: event.created_at,
    datacontenttype: "application/json",
    ...(event.seq === null ? {} : { sequence: String(event.seq).padStart(16, "0") }),
    ...(event.project_id === null ? {} : { projectid: event.project_id }),
    data: {
      event_type: event.event_type,
      event_data: event.event_data,
      source: event.source,
      seq: event.seq,
      sandbox_seq: event.sandbox_seq,
      sandbox_id: event.sandbox_id,
      project_id: event.project_id,
    },
  };
}
