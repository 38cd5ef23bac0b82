/** Whether this replica has the machine that a sandbox stands on. */
import { AppError, type Provider } from "@drover/contract";
import { findReplica } from "../store/replicas.ts";
import type { SandboxRow } from "../store/sandboxes.ts";
import type { Deps } from "./deps.ts";

/** Their sandboxes are reached on their own machine only; those of the others from everywhere. */
export const MACHINE_BOUND: ReadonlySet<Provider> = new Set(["local", "docker"]);

/** Thrown where only another replica can do what was asked; whoever has the request hands it on. */
export class StandsElsewhere extends AppError {
  readonly host: string;

  constructor(host: string) {
    super("sandbox.elsewhere", `the sandbox stands on ${host}`);
    this.host = host;
  }
}

export const isElsewhere = (deps: Pick<Deps, "host">, row: Pick<SandboxRow, "host" | "provider">): boolean =>
  row.host !== null && row.host !== deps.host && MACHINE_BOUND.has(row.provider);

export function requireHere(deps: Pick<Deps, "host">, row: Pick<SandboxRow, "host" | "provider">): void {
  if (row.host !== null && isElsewhere(deps, row)) throw new StandsElsewhere(row.host);
}

/** Where the replica is reached that has the machine. */
export async function findPeer(deps: Pick<Deps, "db">, { host }: StandsElsewhere): Promise<string> {
  const peer = await findReplica.maybe(deps.db, host);
  if (peer === undefined || peer.address === "")
    throw new AppError("sandbox.elsewhere", `the sandbox stands on ${host}, which is not known here`);
  return peer.address;
}

export const toUnreachable = (host: string, address: string, cause: unknown): AppError =>
  new AppError("sandbox.elsewhere", `the sandbox stands on ${host}, and ${address} does not answer`, { cause });
