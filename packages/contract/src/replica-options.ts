/** Settings of several servers on one database: what they share, how they reach each other, how they leave. */
import { z } from "zod";
import type { Option } from "./options.ts";

export const REPLICA_OPTIONS = {
  sharedDir: {
    env: "DROVER_SHARED_DIR",
    yaml: "replicas.shared_dir",
    schema: z.string().min(1).optional(),
    doc: "Directory that every replica sees: artifacts, repositories, installed agents and the key of stored secrets. Without it the data directory of the first replica, where others can reach it.",
  },
  peerUrl: {
    env: "DROVER_PEER_URL",
    yaml: "replicas.peer_url",
    schema: z.url().optional(),
    doc: "Where other replicas reach this one, for what only the machine of a sandbox can do. Without it the address it listens on.",
  },
  drainSeconds: {
    env: "DROVER_DRAIN_SECONDS",
    yaml: "replicas.drain_seconds",
    schema: z.coerce.number().min(0).max(300),
    fallback: "5",
    doc: "How long a server that is told to stop lets requests that are under way finish.",
  },
  replicaLostSeconds: {
    env: "DROVER_REPLICA_LOST_SECONDS",
    yaml: "replicas.lost_seconds",
    schema: z.coerce.number().positive(),
    fallback: "600",
    doc: "After how long of silence of a replica others call the sandboxes on its machine failed, so that their tasks are tried elsewhere.",
  },
} as const satisfies Record<string, Option>;
