/** The way from a sandbox without a network to this server: unix sockets in a directory that only this sandbox sees. */
import type { SandboxId } from "@drover/contract";

/** Contract: the credential is attached outside, so that none lies inside. Opening twice replaces the first. */
export interface SandboxGate {
  open(sandboxId: SandboxId, directory: string, token: string): Promise<void>;
  close(sandboxId: SandboxId): Promise<void>;
}
