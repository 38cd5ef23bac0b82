/** Gives the hooks their client, and one watch per sandbox to all components of a page. */
import { createContext, createElement, useContext, useMemo, type ReactNode } from "react";
import type { Client } from "../create-client.ts";
import { SandboxWatch } from "../sandbox-watch.ts";

interface Drover {
  readonly client: Client;
  readonly watchOf: (sandboxId: string) => SandboxWatch;
}

const DroverContext = createContext<Drover | undefined>(undefined);

/** A watch that nobody subscribes to holds its last snapshot only; this many are remembered. */
const WATCHES_KEPT = 32;

function toDrover(client: Client): Drover {
  const watches = new Map<string, SandboxWatch>();
  const watchOf = (sandboxId: string) => {
    const watch = watches.get(sandboxId) ?? new SandboxWatch(client, sandboxId);
    watches.delete(sandboxId);
    watches.set(sandboxId, watch);
    const [oldest] = watches.keys();
    if (watches.size > WATCHES_KEPT && oldest !== undefined) watches.delete(oldest);
    return watch;
  };
  return { client, watchOf };
}

export function DroverProvider(props: { readonly client: Client; readonly children?: ReactNode }): ReactNode {
  const drover = useMemo(() => toDrover(props.client), [props.client]);
  return createElement(DroverContext.Provider, { value: drover }, props.children);
}

export function useDrover(): Drover {
  const drover = useContext(DroverContext);
  if (drover === undefined) throw new Error("Drover's hooks need a <DroverProvider client={...}> above them");
  return drover;
}

export const useClient = (): Client => useDrover().client;
