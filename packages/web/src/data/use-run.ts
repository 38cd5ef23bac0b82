/** The run a page looks at: followed while the page is shown. */
import { useState, useSyncExternalStore } from "react";
import { client } from "./client.ts";
import { takeFirstTail } from "./first-look.ts";
import { RunStore, type RunSnapshot } from "./run-store.ts";

export function useRun(sandboxId: string): { readonly run: RunSnapshot; readonly store: RunStore } {
  const [store] = useState(() => new RunStore(client, sandboxId, takeFirstTail(sandboxId)));
  const run = useSyncExternalStore(store.subscribe, store.getSnapshot);
  return { run, store };
}
