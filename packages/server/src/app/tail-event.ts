/** An event on its way to subscribers: what filters need, and its frame in JSON, made once for all of them. */
import {
  isMatch,
  toFrame,
  toMatcher,
  toPublishedType,
  type EventFilter,
  type EventMatcher,
  type JsonObject,
  type SandboxId,
} from "@drover/contract";
import type { TailRow } from "../store/events.ts";

export interface TailEvent {
  readonly seq: number;
  readonly sandboxId: SandboxId | null;
  readonly projectId: string | null;
  readonly eventType: string;
  readonly entityType: string;
  readonly entityId: string;
  /** The type as stored, without the published prefix. */
  readonly storedType: string;
  data(): JsonObject;
  /** Made when first asked for. */
  readonly json: string;
  /** About as many bytes as the frame has. */
  readonly weight: number;
}

type FrameRow = Omit<TailRow, "size">;

/** Splices the stored text into the frame; only a body with a key of ours must be parsed and merged. */
function writeFrame(row: FrameRow, eventType: string): string {
  if (row.shadows) return JSON.stringify(toFrame({ ...row, event_data: JSON.parse(row.data_text) as JsonObject }));
  const head = JSON.stringify({
    type: "event",
    seq: row.seq,
    sandbox_seq: row.sandbox_seq,
    id: row.id,
    ts: row.created_at.toISOString(),
    event_type: eventType,
    entity_type: row.entity_type,
    entity_id: row.entity_id,
    project_id: row.project_id,
  });
  const body = row.data_text.slice(1, -1).trim();
  const extra = `"source":${JSON.stringify(row.source)},"original_event_type":${JSON.stringify(row.event_type)}`;
  return `${head.slice(0, -1)},"payload":{${body === "" ? "" : `${body},`}${extra}}}`;
}

const FRAME_OVERHEAD = 300;

/** A class, because thousands a second are made and kept for a while: no closures to carry along. */
class RowEvent implements TailEvent {
  readonly seq: number;
  readonly sandboxId: SandboxId | null;
  readonly projectId: string | null;
  readonly eventType: string;
  readonly entityType: string;
  readonly entityId: string;
  readonly storedType: string;
  readonly weight: number;
  readonly #row: FrameRow;
  #json: string | undefined;

  constructor(row: FrameRow) {
    this.seq = row.seq;
    this.sandboxId = row.sandbox_id;
    this.projectId = row.project_id;
    this.eventType = toPublishedType(row.event_type, row.sandbox_id);
    this.entityType = row.entity_type;
    this.entityId = row.entity_id;
    this.storedType = row.event_type;
    this.weight = row.data_text.length + FRAME_OVERHEAD;
    this.#row = row;
  }

  data(): JsonObject {
    return JSON.parse(this.#row.data_text) as JsonObject;
  }

  get json(): string {
    return (this.#json ??= writeFrame(this.#row, this.eventType));
  }
}

export const toTailEvent = (row: FrameRow): TailEvent => new RowEvent(row);

/** What a subscriber may see and wants to see. */
export interface Audience {
  /** Equal for two audiences that get the same events. */
  readonly key: string;
  /** `null`: every project. */
  readonly projectId: string | null;
  readonly matcher: EventMatcher;
}

export const toAudience = (projectId: string | null, filter: EventFilter): Audience => ({
  key: JSON.stringify([projectId, filter.event_types ?? [], filter.entity_types ?? [], filter.entity_ids ?? []]),
  projectId,
  matcher: toMatcher(filter),
});

export const isFor = (audience: Audience, event: TailEvent): boolean =>
  (audience.projectId === null || audience.projectId === event.projectId) &&
  isMatch(audience.matcher, { event_type: event.eventType, entity_type: event.entityType, entity_id: event.entityId });
