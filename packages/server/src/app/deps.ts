/** What use cases are given: ports and the few open things of this process. */
import type { Config } from "@drover/contract";
import type { BlobStore } from "../ports/blob.ts";
import type { Log } from "../ports/log.ts";
import type { Vault } from "../ports/vault.ts";
import type { WorkerLauncher } from "../ports/worker-launcher.ts";
import type { Credentials } from "./credential.ts";
import type { EventLogDeps } from "./event-log.ts";
import type { Ingest } from "./ingest-events.ts";

export interface Deps extends EventLogDeps {
  readonly config: Config;
  readonly log: Log;
  readonly blobs: BlobStore;
  readonly vault: Vault;
  readonly credentials: Credentials;
  readonly ingest: Ingest;
  readonly launcher: WorkerLauncher;
  /** Where this server is reached, known once it listens. */
  readonly address: () => string;
}
