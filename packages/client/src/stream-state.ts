/** How a live stream stands, as a page shows it. */

/** When the stream was cut, and when the next attempt begins; milliseconds since the epoch. */
interface Waiting {
  readonly attempt: number;
  readonly since: number;
  readonly retryAt: number;
}

export type StreamState =
  | { readonly phase: "connecting" }
  /** `count`: events of the missed part received so far. */
  | { readonly phase: "catching-up"; readonly count: number }
  | { readonly phase: "live"; readonly caughtUp: number }
  | ({ readonly phase: "reconnecting" } & Waiting)
  /** As `reconnecting`, and the browser says that there is no network. Attempts go on: a server on this machine still answers. */
  | ({ readonly phase: "offline" } & Waiting)
  | { readonly phase: "unauthenticated" }
  | { readonly phase: "forbidden" }
  | { readonly phase: "closed" };

export type StreamPhase = StreamState["phase"];

export interface StreamStats {
  readonly duplicatesDropped: number;
  readonly reconnects: number;
  /** Event frames that did not match the contract. */
  readonly malformed: number;
}
