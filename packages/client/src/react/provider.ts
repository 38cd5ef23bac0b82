/** Gives the hooks their client, and one watch per sandbox to all components of a page. */
import { createContext, createElement, useContext, useMemo, type ReactNode } from "react";
import type { Client } from "../create-client.ts";
import type { SandboxLogOptions } from "../sandbox-log.ts";
import { SandboxWatch } from "../sandbox-watch.ts";

interface Drover {
  readonly client: Client;
  readonly watchOf: (sandboxId: string) => SandboxWatch;
}

const DroverContext = createContext<Drover | undefined>(undefined);

/** A watch that nobody subscribes to holds its last snapshot only; this many are remembered. */
const WATCHES_KEPT = 32;

function toDrover(client: Client, logOptions: SandboxLogOptions | undefined): Drover {
  const watches = new Map<string, SandboxWatch>();
  const watchOf = (sandboxId: string) => {
    const watch = watches.get(sandboxId) ?? new SandboxWatch(client, sandboxId, logOptions);
    watches.delete(sandboxId);
    watches.set(sandboxId, watch);
    const [oldest] = watches.keys();
    if (watches.size > WATCHES_KEPT && oldest !== undefined) watches.delete(oldest);
    return watch;
  };
  return { client, watchOf };
}

interface ProviderProps {
  readonly client: Client;
  /** How logs of sandboxes are kept; one object for the page's life. */
  readonly logOptions?: SandboxLogOptions;
  readonly children?: ReactNode;
}

export function DroverProvider({ client, logOptions, children }: ProviderProps): ReactNode {
  const drover = useMemo(() => toDrover(client, logOptions), [client, logOptions]);
  return createElement(DroverContext.Provider, { value: drover }, children);
}

export function useDrover(): Drover {
  const drover = useContext(DroverContext);
  if (drover === undefined) throw new Error("Drover's hooks need a <DroverProvider client={...}> above them");
  return drover;
}

export const useClient = (): Client => useDrover().client;
