/** Whether each provider could make a sandbox now: it is opened and asked what it has. */
import type { Provider, ProviderState } from "@drover/contract";
import type { Deps } from "./deps.ts";

const PATIENCE_MS = 8_000;
/** No sandbox carries it: the answer is empty, and that there is one is what counts. */
const NOBODY = { drover: "probe" } as const;

async function look(deps: Deps, name: Provider, signal: AbortSignal): Promise<ProviderState> {
  const known = { name, is_default: deps.config.provider === name };
  const late = AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)]);
  const given = new Promise<never>((_resolve, reject) =>
    late.addEventListener("abort", () => reject(new Error("It does not answer in time.")), { once: true }),
  );
  try {
    const provider = await Promise.race([deps.providers.open(name), given]);
    await Promise.race([provider.list(NOBODY, late), given]);
    const capabilities = Object.entries(provider.capabilities).flatMap(([capability, has]) =>
      has ? [capability] : [],
    );
    return { ...known, is_ready: true, problem: null, capabilities };
  } catch (error) {
    // Expected: an engine that is away, a key that is missing. That is what was asked.
    return { ...known, is_ready: false, problem: error instanceof Error ? error.message : "unknown", capabilities: [] };
  }
}

export async function readProviders(deps: Deps, signal: AbortSignal) {
  const items = await Promise.all(deps.providers.names.map((name) => look(deps, name, signal)));
  return {
    items: items.toSorted((one, other) => Number(other.is_default) - Number(one.is_default)),
    next_cursor: null,
  };
}
