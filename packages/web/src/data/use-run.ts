/** The run a page looks at: followed while the page is shown. */
import { useEffect, useState, useSyncExternalStore } from "react";
import { client } from "./client.ts";
import { RunStore, type RunSnapshot } from "./run-store.ts";

/** For the page that is about to open. */
let prepared: { readonly sandboxId: string; readonly store: RunStore; readonly release: () => void } | undefined;

/** Begins to read a run while the page around it is still being made. Whoever opens another one instead ends that. */
export function prepareRun(sandboxId: string): void {
  const store = new RunStore(client, sandboxId);
  prepared = { sandboxId, store, release: store.subscribe(() => {}) };
}

/** One that was refused, to who had no login yet, has stopped. */
function takeStore(sandboxId: string): RunStore {
  const isGood = prepared?.sandboxId === sandboxId && prepared.store.getSnapshot().log?.error === undefined;
  return prepared !== undefined && isGood ? prepared.store : new RunStore(client, sandboxId);
}

export function useRun(sandboxId: string): { readonly run: RunSnapshot; readonly store: RunStore } {
  const [store] = useState(() => takeStore(sandboxId));
  const run = useSyncExternalStore(store.subscribe, store.getSnapshot);
  // From here on the page itself holds the store open.
  useEffect(() => {
    prepared?.release();
    prepared = undefined;
  }, [store]);
  return { run, store };
}
