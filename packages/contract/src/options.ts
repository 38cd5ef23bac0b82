/** Every setting once: its names, default, meaning. Parameters > environment > .env > drover.yaml > defaults. */
import { z } from "zod";
import { PermissionDecision } from "./resources/agent-options.ts";
import { AGENT_SERVER_OPTIONS } from "./agent-server-options.ts";
import { ARCHIVE_OPTIONS } from "./archive-options.ts";
import { GIT_OPTIONS } from "./git-options.ts";
import { MODEL_OPTIONS } from "./model-options.ts";
import { REPLICA_OPTIONS } from "./replica-options.ts";
import { PROVIDER_OPTIONS } from "./provider-options.ts";
import { HeaderWord } from "./resources/header-word.ts";
import { Provider, RuntimeName } from "./resources/sandbox.ts";
import { SUPERVISION_OPTIONS } from "./supervision-options.ts";
import { TELEMETRY_OPTIONS } from "./telemetry-options.ts";
import { WEBHOOK_OPTIONS } from "./webhook-options.ts";
import { WORK_OPTIONS } from "./work-options.ts";
import { WORKSPACE_OPTIONS } from "./workspace-options.ts";

export interface Option {
  readonly flag?: string;
  /** The flag takes no value: to name it is to set it. */
  readonly isSwitch?: true;
  readonly env: string;
  /** Other variables that mean the same; `env` wins over them. */
  readonly aliases?: readonly string[];
  readonly yaml: string;
  readonly schema: z.ZodType;
  /** As text, the way an environment variable would give it; `undefined` = unset. */
  readonly fallback?: string;
  readonly doc: string;
  readonly secret?: true;
}

const Flag = z.stringbool();
const text = z.string().min(1);
const optionalText = text.optional();
const positive = z.coerce.number().positive();

export const OPTIONS = {
  host: {
    flag: "--host",
    env: "DROVER_HOST",
    yaml: "server.host",
    schema: text,
    fallback: "127.0.0.1",
    doc: "Address to listen on.",
  },
  port: {
    flag: "--port",
    env: "DROVER_PORT",
    yaml: "server.port",
    schema: z.coerce.number().int().min(0).max(65_535),
    fallback: "18000",
    doc: "Port to listen on; 0 takes any free one.",
  },
  publicUrl: {
    flag: "--public-url",
    env: "DROVER_PUBLIC_URL",
    yaml: "server.public_url",
    schema: z.url().optional(),
    doc: "The address people use, when a proxy stands in front; its host is then accepted.",
  },
  allowedHosts: {
    env: "DROVER_ALLOWED_HOSTS",
    yaml: "server.allowed_hosts",
    schema: optionalText,
    doc: "More host names to accept, separated by commas.",
  },
  dataDir: {
    flag: "--data-dir",
    env: "DROVER_DATA_DIR",
    yaml: "server.data_dir",
    schema: text,
    fallback: ".drover",
    doc: "Where database, artifacts and keys live.",
  },
  adminToken: {
    env: "DROVER_ADMIN_TOKEN",
    yaml: "server.admin_token",
    schema: HeaderWord.min(8).max(500).meta({ description: "one word of 8 to 500 printable characters" }).optional(),
    doc: "Made the first admin's token.",
    secret: true,
  },
  secretKey: {
    env: "DROVER_SECRET_KEY",
    yaml: "server.secret_key",
    schema: z.string().min(32).optional(),
    doc: "Key for sealed values, shared by replicas; made and kept in the data directory when unset.",
    secret: true,
  },
  databaseUrl: {
    env: "DATABASE_URL",
    yaml: "database.url",
    schema: optionalText,
    doc: "A PostgreSQL server of your own, instead of the embedded one.",
    secret: true,
  },
  databaseWaitSeconds: {
    env: "DROVER_DATABASE_WAIT_SECONDS",
    yaml: "database.wait_seconds",
    schema: z.coerce.number().nonnegative(),
    fallback: "30",
    doc: "How long a server that starts waits for the database of DATABASE_URL to answer.",
  },
  databasePoolSize: {
    env: "DATABASE_POOL_SIZE",
    yaml: "database.pool_size",
    schema: z.coerce.number().int().min(2).max(100),
    fallback: "10",
    doc: "Connections to the database.",
  },
  redisUrl: {
    env: "REDIS_URL",
    yaml: "redis.url",
    schema: optionalText,
    doc: "Redis between replicas; without it hints and rate limits stay in the process.",
    secret: true,
  },
  logLevel: {
    flag: "--log-level",
    env: "DROVER_LOG_LEVEL",
    yaml: "server.log_level",
    schema: z.enum(["trace", "debug", "info", "warn", "error", "silent"]),
    fallback: "info",
    doc: "How much is logged to standard error.",
  },
  eventsPerSecond: {
    env: "DROVER_EVENTS_PER_SECOND",
    yaml: "limits.events_per_second",
    schema: positive,
    fallback: "200",
    doc: "Sustained rate of events per sandbox.",
  },
  eventBurst: {
    env: "DROVER_EVENT_BURST",
    yaml: "limits.event_burst",
    schema: positive,
    fallback: "10000",
    doc: "Events a sandbox may send at once.",
  },
  artifactLimitMb: {
    env: "DROVER_ARTIFACT_LIMIT_MB",
    yaml: "limits.artifact_mb",
    schema: positive,
    fallback: "64",
    doc: "Largest artifact, in MiB.",
  },
  sandboxArtifactsMb: {
    env: "DROVER_SANDBOX_ARTIFACTS_MB",
    yaml: "limits.sandbox_artifacts_mb",
    schema: positive,
    fallback: "4096",
    doc: "All artifacts that one sandbox may send, in MiB.",
  },
  keepFreeMb: {
    env: "DROVER_KEEP_FREE_MB",
    yaml: "limits.keep_free_mb",
    schema: z.coerce.number().min(0),
    fallback: "128",
    doc: "Room on the disk of the data directory, in MiB, below which nothing more is taken from sandboxes: they keep it and send it again.",
  },
  loginAttemptsPerMinute: {
    env: "DROVER_LOGIN_ATTEMPTS_PER_MINUTE",
    yaml: "limits.login_attempts_per_minute",
    schema: positive,
    fallback: "20",
    doc: "Failed logins per address before 429.",
  },
  sessionDays: {
    env: "DROVER_SESSION_DAYS",
    yaml: "auth.session_days",
    schema: positive,
    fallback: "30",
    doc: "How long a browser stays logged in.",
  },
  heartbeatIntervalSeconds: {
    env: "HEARTBEAT_INTERVAL",
    yaml: "worker.heartbeat_interval",
    schema: positive,
    fallback: "30",
    doc: "How often workers report that they live, in seconds.",
  },
  postCompletionSeconds: {
    env: "POST_COMPLETION_SECONDS",
    yaml: "worker.post_completion_seconds",
    schema: positive,
    fallback: "300",
    doc: "How long a worker waits for messages after its task.",
  },
  streamStallSeconds: {
    env: "DROVER_STREAM_STALL_SECONDS",
    yaml: "stream.stall_seconds",
    schema: positive,
    fallback: "60",
    doc: "A subscriber that takes nothing this long is closed with 1013.",
  },
  streamPingSeconds: {
    env: "DROVER_STREAM_PING_SECONDS",
    yaml: "stream.ping_seconds",
    schema: positive,
    fallback: "30",
    doc: "Silence after which the stream sends a ping.",
  },
  provider: {
    flag: "--provider",
    env: "SANDBOX_PROVIDER",
    yaml: "sandbox.provider",
    schema: Provider.exclude(["external"]),
    fallback: "local",
    doc: "What makes sandboxes when a request names no provider.",
  },
  daytonaExecution: {
    env: "DAYTONA_SANDBOX_EXECUTION",
    yaml: "daytona.sandbox_execution",
    schema: Flag,
    fallback: "false",
    doc: "Makes sandboxes with Daytona when a request names no provider.",
  },
  daytonaApiKey: {
    env: "DAYTONA_API_KEY",
    yaml: "daytona.api_key",
    schema: optionalText,
    doc: "Key of provider daytona.",
    secret: true,
  },
  daytonaApiUrl: {
    env: "DAYTONA_API_URL",
    yaml: "daytona.api_url",
    schema: z.url(),
    fallback: "https://app.daytona.io/api",
    doc: "Where Daytona answers.",
  },
  daytonaTarget: {
    env: "DAYTONA_TARGET",
    yaml: "daytona.target",
    schema: text,
    fallback: "us",
    doc: "Region of Daytona's sandboxes.",
  },
  daytonaSnapshot: {
    env: "SANDBOX_SNAPSHOT",
    aliases: ["DAYTONA_SNAPSHOT"],
    yaml: "daytona.snapshot",
    schema: text,
    fallback: "ai-agent-dev-light",
    doc: "Snapshot of Daytona's sandboxes; where there is none of this name, the image is used.",
  },
  daytonaTimeoutSeconds: {
    env: "DAYTONA_TIMEOUT",
    yaml: "daytona.timeout",
    schema: positive,
    fallback: "300",
    doc: "How long Daytona may take to make a sandbox, in seconds.",
  },
  dockerHost: {
    env: "DOCKER_HOST",
    yaml: "docker.host",
    schema: text,
    fallback: "unix:///var/run/docker.sock",
    doc: "The Docker or Podman engine of provider docker.",
  },
  sandboxImage: {
    env: "SANDBOX_IMAGE",
    aliases: ["DAYTONA_IMAGE"],
    yaml: "sandbox.image",
    schema: text,
    fallback: "nikolaik/python-nodejs:python3.12-nodejs22",
    doc: "Image of a sandbox, where the provider uses images and the request names none.",
  },
  sandboxRuntime: {
    env: "SANDBOX_RUNTIME",
    yaml: "sandbox.runtime",
    schema: RuntimeName.optional(),
    doc: "Agent of a sandbox, where neither the request nor its project names one; without it the scripted one.",
  },
  sandboxMemoryGb: {
    env: "SANDBOX_MEMORY_GB",
    aliases: ["DAYTONA_SANDBOX_MEMORY_GB"],
    yaml: "daytona.sandbox_memory_gb",
    schema: positive,
    fallback: "4",
    doc: "Memory of a sandbox in GiB, at most 8.",
  },
  sandboxCpu: {
    env: "SANDBOX_CPU",
    aliases: ["DAYTONA_SANDBOX_CPU"],
    yaml: "daytona.sandbox_cpu",
    schema: positive,
    fallback: "2",
    doc: "Processor cores of a sandbox, at most 4.",
  },
  sandboxDiskGb: {
    env: "SANDBOX_DISK_GB",
    aliases: ["DAYTONA_SANDBOX_DISK_GB"],
    yaml: "daytona.sandbox_disk_gb",
    schema: positive,
    fallback: "8",
    doc: "Disk of a sandbox in GiB, at most 10.",
  },
  sandboxReplacements: {
    env: "SANDBOX_REPLACEMENTS",
    yaml: "sandbox.replacements",
    schema: z.coerce.number().int().min(0).max(100),
    fallback: "0",
    doc: "How often a sandbox that was lost (its worker killed, its provider without it) is made again and goes on with its last checkpoint; 0 lets it fail.",
  },
  warmLocal: {
    env: "SANDBOX_WARM_LOCAL",
    yaml: "sandbox.warm_local",
    schema: z.coerce.number().int().min(0).max(100),
    fallback: "1",
    doc: "Sandboxes of provider local that stand ready before they are asked for.",
  },
  warmDocker: {
    env: "SANDBOX_WARM_DOCKER",
    yaml: "sandbox.warm_docker",
    schema: z.coerce.number().int().min(0).max(100),
    fallback: "0",
    doc: "Containers of provider docker that stand ready before they are asked for.",
  },
  keepCompletedSeconds: {
    env: "SANDBOX_KEEP_COMPLETED_SECONDS",
    yaml: "sandbox.keep_completed_seconds",
    schema: positive,
    fallback: "3600",
    doc: "How long a completed sandbox stands before it is removed.",
  },
  permissionPolicy: {
    env: "PERMISSION_POLICY",
    yaml: "agents.permission_policy",
    schema: PermissionDecision.optional(),
    doc: "What is done when an agent asks for a permission and its sandbox has no policy: `allow`, `deny`, or `ask` a person until the deadline. Unset: `allow` where the sandbox holds the agent in, else `ask`.",
  },
  permissionDeadlineSeconds: {
    env: "PERMISSION_DEADLINE_SECONDS",
    yaml: "agents.permission_deadline_seconds",
    schema: z.coerce.number().int().positive().max(604_800),
    fallback: "600",
    doc: "How long an agent waits for a person's answer before it is refused.",
  },
  unsafeNoSandbox: {
    flag: "--unsafe-no-sandbox",
    isSwitch: true,
    env: "DROVER_UNSAFE_NO_SANDBOX",
    yaml: "sandbox.unsafe_no_sandbox",
    schema: Flag,
    fallback: "false",
    doc: "UNSAFE. Where there is no bubblewrap, provider `local` runs agents as plain processes: they can read this machine's files and reach its network.",
  },
  agentsDir: {
    env: "DROVER_AGENTS_DIR",
    yaml: "agents.directory",
    schema: optionalText,
    doc: "Where agents are installed; `agents` in the data directory unless told.",
  },
  egressAllow: {
    env: "DROVER_EGRESS_ALLOW",
    yaml: "sandbox.egress_allow",
    schema: optionalText,
    doc: "Hosts that sandboxes with network `allowlist` reach besides this machine's own package registries: names, `*.domain`, either with `:port`, separated by commas.",
  },
  egressAllowPrivate: {
    env: "DROVER_EGRESS_ALLOW_PRIVATE",
    yaml: "sandbox.egress_allow_private",
    schema: optionalText,
    doc: "Hosts that sandboxes reach, and repositories are looked at, even where they lie in a private network or on this machine; no wildcards.",
  },
  egressPorts: {
    env: "DROVER_EGRESS_PORTS",
    yaml: "sandbox.egress_ports",
    schema: text,
    fallback: "443,80",
    doc: "Ports that sandboxes reach where a host is named without one.",
  },
  ...MODEL_OPTIONS,
  demo: {
    env: "DROVER_DEMO",
    yaml: "server.demo",
    schema: Flag,
    fallback: "true",
    doc: "Offer the scripted demo run on the first page.",
  },
  ...GIT_OPTIONS,
  ...SUPERVISION_OPTIONS,
  ...WORK_OPTIONS,
  ...PROVIDER_OPTIONS,
  ...WEBHOOK_OPTIONS,
  ...AGENT_SERVER_OPTIONS,
  ...ARCHIVE_OPTIONS,
  ...WORKSPACE_OPTIONS,
  ...REPLICA_OPTIONS,
  ...TELEMETRY_OPTIONS,
} as const satisfies Record<string, Option>;

export type OptionName = keyof typeof OPTIONS;
export type Config = { readonly [Name in OptionName]: z.infer<(typeof OPTIONS)[Name]["schema"]> };
