/** What use cases are given: ports and the few open things of this process. */
import type { Config, ResolvedResources, SandboxId } from "@drover/contract";
import type { AgentPackages } from "../ports/agent-packages.ts";
import type { BlobStore } from "../ports/blob.ts";
import type { Buckets } from "../ports/buckets.ts";
import type { ConversationSource } from "../ports/conversation-source.ts";
import type { CheckpointStore } from "../ports/checkpoint-store.ts";
import type { DiskRoom } from "../ports/disk-room.ts";
import type { Judge } from "../ports/judge.ts";
import type { Log } from "../ports/log.ts";
import type { Traces } from "../ports/traces.ts";
import type { Vault } from "../ports/vault.ts";
import type { WebhookPost } from "../ports/webhook-post.ts";
import type { RemoteRefs } from "../ports/remote-refs.ts";
import type { Repositories } from "../ports/repository.ts";
import type { SandboxGate } from "../ports/sandbox-gate.ts";
import type { Credentials } from "./credential.ts";
import type { EventLogDeps } from "./event-log.ts";
import type { Egress } from "./govern-egress.ts";
import type { Ingest } from "./ingest-events.ts";
import type { Git } from "./project-git.ts";
import type { Unopened } from "./open-checkpoints.ts";
import type { PassRecords } from "./pass-record.ts";
import type { Models } from "./models.ts";
import type { Providers } from "./providers.ts";

export interface Deps extends EventLogDeps {
  readonly config: Config;
  readonly log: Log;
  readonly blobs: BlobStore;
  readonly room: DiskRoom;
  readonly buckets: Buckets;
  readonly vault: Vault;
  readonly credentials: Credentials;
  readonly ingest: Ingest;
  readonly providers: Providers;
  readonly models: Models;
  readonly gate: SandboxGate;
  /** The worker as one file of this machine, for providers that do not have it inside. */
  readonly workerBundle: string;
  readonly agents: AgentPackages;
  readonly egress: Egress;
  readonly repositories: Repositories;
  readonly remotes: RemoteRefs;
  readonly git: Git;
  readonly checkpoints: CheckpointStore;
  readonly unopened: Unopened;
  /** Resources as configured, each with its origin. */
  readonly resources: ResolvedResources;
  /** Names this installation at providers that others use too. */
  readonly installation: string;
  /** This machine, and this process on it. */
  readonly host: string;
  readonly instance: string;
  /** Sandboxes this process has opened its gate for. */
  readonly adopted: Set<string>;
  /** Sandboxes that this process is making, and how to leave off. */
  readonly making: Map<SandboxId, { readonly done: Promise<void>; readonly end: () => void }>;
  readonly judge: Judge;
  /** Undefined: nobody can be asked for what webhooks of agent servers did not bring. */
  readonly conversations: ConversationSource | undefined;
  /** How the background passes of this process do. */
  readonly passes: PassRecords;
  readonly webhooks: WebhookPost;
  /** Where runs are told to; none unless it is configured. */
  readonly traces: Traces | undefined;
  /** When this process began to watch. */
  readonly startedMs: number;
  /** Runs a background pass soon instead of at its next turn. */
  readonly wake: (loop: string) => void;
  /** Where this server is reached, known once it listens. */
  readonly address: () => string;
}
