/** This browser's connection, as the page that is open knows it: a signal of its own, never mixed with state or liveness. */
import type { StreamState } from "@drover/client";
import { create } from "zustand";

export interface Connection {
  readonly state: StreamState;
  /** Of one sandbox's log when a run is open. */
  readonly run:
    | { readonly sandboxId: string; readonly head: number; readonly gaps: number; readonly isComplete: boolean }
    | undefined;
  readonly reconnects: number;
  readonly duplicates: number;
  readonly lastEventAt: number | undefined;
  readonly wake: () => void;
}

const NONE: Connection = {
  state: { phase: "connecting" },
  run: undefined,
  reconnects: 0,
  duplicates: 0,
  lastEventAt: undefined,
  wake: () => {},
};

export const useConnection = create<Connection>()(() => NONE);

export const clearConnection = (): void => useConnection.setState(NONE);
