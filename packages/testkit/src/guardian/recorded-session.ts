/** A recorded session of an agent, and what a careful engineer who watched it would say of it. */

export interface RecordedEvent {
  readonly seq: number;
  readonly event_type: string;
  readonly event_data: Readonly<Record<string, unknown>>;
  readonly source: "agent" | "worker" | "server" | "user";
  readonly atMs: number;
}

export interface SessionLabel {
  /** Those that should be raised at some point of the session. */
  readonly signals: readonly string[];
  /** Those that would be no mistake either: a loop of one call is also no progress. */
  readonly tolerated: readonly string[];
  readonly is_healthy: boolean;
  /** Where the trouble begins. */
  readonly from_seq?: number;
}

export interface RecordedSession {
  readonly name: string;
  readonly prompt: string;
  readonly owned_files: readonly string[];
  /** The window of the model, where it is known. */
  readonly context_tokens: number | null;
  readonly events: readonly RecordedEvent[];
  readonly label: SessionLabel;
}
