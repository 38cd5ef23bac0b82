/** An event on its way to subscribers: what filters need, and its frame in JSON, made once for all of them. */
import {
  isMatch,
  toFrame,
  toMatcher,
  toPublishedType,
  type EventFilter,
  type EventId,
  type EventMatcher,
  type JsonObject,
  type SandboxId,
} from "@drover/contract";
import type { TailRow } from "../store/events.ts";
import { perTurn } from "./per-turn.ts";

export interface TailEvent {
  readonly seq: number;
  readonly sandboxId: SandboxId | null;
  readonly projectId: string | null;
  readonly eventType: string;
  readonly entityType: string;
  readonly entityId: string;
  /** The type as stored, without the published prefix. */
  readonly storedType: string;
  /** Made when it is asked for, and kept for that turn of the event loop only. */
  readonly json: string;
  /** About as many bytes as the frame has. */
  readonly weight: number;
}

type FrameRow = Omit<TailRow, "size">;

const FRAME_OVERHEAD = 300;

/** Subscribers with different wishes are told in one turn; a frame that were kept longer would double what the ring holds. */
const toJson = perTurn((event: RowEvent) => event.writeFrame());

/** A class, because thousands a second are made and kept for a while: no closures to carry along, and of the row only what its
 *  frame needs. */
class RowEvent implements TailEvent {
  readonly seq: number;
  readonly sandboxId: SandboxId | null;
  readonly projectId: string | null;
  readonly eventType: string;
  readonly entityType: string;
  readonly entityId: string;
  readonly storedType: string;
  readonly #id: EventId;
  readonly #sandboxSeq: number | null;
  readonly #at: Date;
  readonly #source: string;
  readonly #dataText: string;
  readonly #shadows: boolean;

  constructor(row: FrameRow) {
    this.seq = row.seq;
    this.sandboxId = row.sandbox_id;
    this.projectId = row.project_id;
    this.eventType = toPublishedType(row.event_type, row.sandbox_id);
    this.entityType = row.entity_type;
    this.entityId = row.entity_id;
    this.storedType = row.event_type;
    this.#id = row.id;
    this.#sandboxSeq = row.sandbox_seq;
    this.#at = row.created_at;
    this.#source = row.source;
    this.#dataText = row.data_text;
    this.#shadows = row.shadows;
  }

  get weight(): number {
    return this.#dataText.length + FRAME_OVERHEAD;
  }

  get json(): string {
    return toJson(this);
  }

  /** Splices the stored text into the frame; only a body with a key of ours must be parsed and merged. */
  writeFrame(): string {
    const row = {
      seq: this.seq,
      sandbox_seq: this.#sandboxSeq,
      id: this.#id,
      created_at: this.#at,
      event_type: this.storedType,
      sandbox_id: this.sandboxId,
      entity_type: this.entityType,
      entity_id: this.entityId,
      project_id: this.projectId,
      source: this.#source,
    };
    if (this.#shadows) return JSON.stringify(toFrame({ ...row, event_data: JSON.parse(this.#dataText) as JsonObject }));
    const { payload, ...head } = toFrame({ ...row, event_data: {} });
    const body = this.#dataText.slice(1, -1).trim();
    const comma = body === "" ? "" : ",";
    return `${JSON.stringify(head).slice(0, -1)},"payload":{${body}${comma}${JSON.stringify(payload).slice(1)}}`;
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
