/** Which provider makes a sandbox: the request's, else the configuration's. An unavailable one is an error, never another one. */
import { AppError, type Provider } from "@drover/contract";
import type { SandboxProvider } from "../ports/sandbox-provider.ts";

export interface Providers {
  /** Opens it when it is first needed. */
  open(name: Provider): Promise<SandboxProvider>;
  /** Those that have been opened or can be without a cost. */
  readonly names: readonly Provider[];
  close(): Promise<void>;
}

export type ProviderTable = Readonly<Partial<Record<Provider, () => Promise<SandboxProvider>>>>;

export function openProviders(table: ProviderTable): Providers {
  const opened = new Map<Provider, Promise<SandboxProvider>>();
  return {
    names: Object.keys(table) as Provider[],
    open: (name) => {
      const known = opened.get(name);
      if (known !== undefined) return known;
      const make = table[name];
      if (make === undefined)
        return Promise.reject(new AppError("provider.unavailable", `provider ${name} is not available on this server`));
      const opening = make();
      opened.set(name, opening);
      // A provider that could not be opened may be tried again: its engine may have been started meanwhile.
      opening.catch(() => opened.delete(name));
      return opening;
    },
    close: async () => {
      for (const provider of opened.values())
        await provider.then(
          (one) => one.close(),
          () => undefined,
        );
    },
  };
}
