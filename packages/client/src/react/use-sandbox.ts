/** One sandbox in a component: resource, log, connection, and messages with their receipts. */
import { useMemo, useSyncExternalStore } from "react";
import type { SandboxSnapshot, SandboxWatch } from "../sandbox-watch.ts";
import type { StreamState } from "../stream-state.ts";
import { useDrover } from "./provider.ts";

export interface SandboxView
  extends
    SandboxSnapshot,
    Pick<SandboxWatch, "sendMessage" | "retryMessage" | "discardMessage" | "loadOlder" | "wake"> {
  readonly state: StreamState;
}

/** Components that ask for the same sandbox share one log and one socket. */
export function useSandbox(sandboxId: string): SandboxView {
  const drover = useDrover();
  const watch = useMemo(() => drover.watchOf(sandboxId), [drover, sandboxId]);
  const snapshot = useSyncExternalStore(watch.subscribe, watch.getSnapshot, watch.getSnapshot);
  const { sendMessage, retryMessage, discardMessage, loadOlder, wake } = watch;
  return { ...snapshot, state: snapshot.log.state, sendMessage, retryMessage, discardMessage, loadOlder, wake };
}
