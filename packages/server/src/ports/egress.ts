/** The way from a sandbox to the outside world, for those that have one. */
import type { SandboxId } from "@drover/contract";

export interface EgressTarget {
  readonly host: string;
  readonly port: number;
}

export type EgressVerdict<T> = ({ readonly ok: true } & T) | { readonly ok: false; readonly reason: string };

/** What one sandbox may reach. */
export interface EgressJudge {
  /** `host:port` as it was asked for, before anything is looked up. */
  judgeTarget(authority: string): Promise<EgressVerdict<{ readonly target: EgressTarget }>>;
  /** Everything the target resolved to, before anything is dialled. */
  judgeAddresses(target: EgressTarget, addresses: readonly string[]): Promise<EgressVerdict<unknown>>;
  /** Told once per request, with what became of it. */
  note(authority: string, outcome: "allowed" | "refused" | "failed", reason: string | null): void;
}

/** Contract: a name is resolved once, and only addresses that were judged are dialled. Opening twice replaces the first;
 *  closing ends every connection that goes through. */
export interface EgressProxy {
  open(sandboxId: SandboxId, directory: string, judge: EgressJudge): Promise<void>;
  close(sandboxId: SandboxId): Promise<void>;
}

/** Addresses of a name, in the order in which to try them; none when it has none. */
export interface NameResolver {
  resolve(host: string, signal: AbortSignal): Promise<readonly string[]>;
}

/** The package registries that the programs of this machine are set up with. */
export interface Registries {
  /** Addresses of all of them, the programs' own defaults too. May take seconds the first time. */
  readAll(): Promise<readonly string[]>;
  /** Variables that make programs in a sandbox use the same ones; without names and passwords. */
  readEnv(): Promise<Readonly<Record<string, string>>>;
}
