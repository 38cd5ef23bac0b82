/** Agents on this machine's disk, installed on demand. */
import type { AgentName, AgentPackage } from "@drover/contract";

/** Contract: `install` returns at once, and twice is once while it is under way; what is installed is whole or not there;
 *  `remove` of what is not there succeeds. Failures are told in `state` and `detail`, never thrown. */
export interface AgentPackages {
  list(): Promise<readonly AgentPackage[]>;
  install(name: AgentName): Promise<AgentPackage>;
  remove(name: AgentName): Promise<AgentPackage>;
  /** Where the pinned version lies; undefined when it is not installed. */
  find(name: AgentName): Promise<string | undefined>;
  /** The pinned version as one gzipped archive, for sandboxes that see no directory of this machine. */
  pack(name: AgentName, signal: AbortSignal): Promise<Uint8Array>;
  /** Ends what is under way. */
  close(): Promise<void>;
}
