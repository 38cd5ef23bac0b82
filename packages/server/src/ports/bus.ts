/** Hints between processes. */

export interface BusMessage {
  /** The published event type, which names the channel. */
  readonly eventType: string;
  /** The event as a frame, in JSON. */
  readonly json: string;
}

/** Contract: best effort. Hints may be lost, doubled or reordered; the database is the truth. `publish` never throws and
 *  never waits. A listener hears its own process's hints too, at the adapter's choice. */
export interface Bus {
  publish(messages: readonly BusMessage[]): void;
  onHint(listener: () => void): () => void;
  /** Whether hints travel now; `/readyz` says so. */
  isUp(): boolean;
  close(): Promise<void>;
}
