/** What one Drover asks of another that runs sandboxes for it.
 *
 *  One WebSocket per request, at `/hosted`, with a bearer. The first frame is the request; text frames are JSON, binary ones bytes: of
 *  standard input on the way there, and on the way back of the stream that their first byte names. `result` or `refused` comes last.
 *  Three requests stay open: a `terminal`; a `connect` to a port of a sandbox, whose input ends with `end`; and a `relay`, which tells of every connection that is made inside of a sandbox; each is taken
 *  over at `/hosted?connection=<id>`, by a WebSocket that carries nothing but its bytes. */
import { z } from "zod";
import { API_BASE } from "./endpoint.ts";

export const HOSTED_PATH = `${API_BASE}/hosted`;
/** The first byte of what comes back. */
export const HOSTED_STREAM = { stdout: 1, stderr: 2 } as const;
export const HOSTED_FRAME_LIMIT_BYTES = 1024 * 1024;
/** Closes a `relay` whose sandbox has another one now, or is gone. */
export const HOSTED_REPLACED = 4409;

const GIB = 1024 ** 3;
const Key = z.string().regex(/^[a-z0-9][a-z0-9-]{0,80}$/);
const Words = z.record(z.string().max(200), z.string().max(100_000));
const Path = z.string().min(1).max(4_096);
const Size = { columns: z.int().min(1).max(1_000), rows: z.int().min(1).max(1_000) };
const Command = {
  key: Key,
  argv: z.tuple([z.string()], z.string()),
  cwd: z.string().max(4_096).optional(),
  env: Words.optional(),
};

export const HostedLimits = z.object({
  memoryBytes: z
    .number()
    .positive()
    .max(8 * GIB),
  cpus: z.number().positive().max(4),
  diskBytes: z
    .number()
    .positive()
    .max(10 * GIB),
  processes: z.int().positive().max(4_096),
});

export const HostedRequest = z.discriminatedUnion("op", [
  z.strictObject({ op: z.literal("about") }),
  z.strictObject({
    op: z.literal("ensure"),
    key: Key,
    labels: Words,
    limits: HostedLimits,
    env: Words,
    image: z.string().max(300).optional(),
    snapshot: z.string().max(300).optional(),
  }),
  z.strictObject({ op: z.literal("exec"), ...Command, timeout_ms: z.int().positive().optional() }),
  z.strictObject({ op: z.literal("start"), ...Command }),
  z.strictObject({ op: z.literal("terminal"), key: Key, ...Size }),
  z.strictObject({ op: z.literal("upload"), key: Key, path: Path, mode: z.int().optional() }),
  z.strictObject({ op: z.literal("download"), key: Key, path: Path, limit: z.int().positive() }),
  z.strictObject({ op: z.literal("files"), key: Key, path: Path }),
  z.strictObject({ op: z.literal("info"), key: Key }),
  z.strictObject({ op: z.literal("list"), labels: Words }),
  z.strictObject({ op: z.literal("pause"), key: Key }),
  z.strictObject({ op: z.literal("resume"), key: Key }),
  z.strictObject({ op: z.literal("snapshot"), key: Key, name: z.string().max(500) }),
  z.strictObject({ op: z.literal("destroy"), key: Key }),
  z.strictObject({ op: z.literal("relay"), key: Key }),
  z.strictObject({ op: z.literal("connect"), key: Key, port: z.int().min(1).max(65_535) }),
]);
export type HostedRequest = z.infer<typeof HostedRequest>;

/** What may follow the request. */
export const HostedInput = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("end") }),
  z.strictObject({ type: z.literal("resize"), ...Size }),
]);
export type HostedInput = z.infer<typeof HostedInput>;

/** The sockets that a sandbox finds in `/run/cp`. */
export const HostedSocket = z.enum(["api.sock", "egress.sock"]);
export type HostedSocket = z.infer<typeof HostedSocket>;

export const HostedAnswer = z.discriminatedUnion("type", [
  z.object({ type: z.literal("ready") }),
  z.object({ type: z.literal("connection"), id: z.uuid(), socket: HostedSocket }),
  z.object({ type: z.literal("result"), value: z.unknown() }),
  z.object({ type: z.literal("refused"), code: z.string(), message: z.string() }),
]);
export type HostedAnswer = z.infer<typeof HostedAnswer>;

export const HostedAbout = z.object({
  provider: z.string(),
  capabilities: z.object({
    pause: z.boolean(),
    snapshot: z.boolean(),
    terminal: z.boolean(),
    socketDirectory: z.boolean(),
    survivesServer: z.boolean(),
  }),
});

export const HostedRef = z.object({ key: z.string(), id: z.string(), labels: z.record(z.string(), z.string()) });

export const HostedExit = z.object({
  code: z.int().nullable(),
  signal: z.string().nullable(),
  isTimedOut: z.boolean(),
  isOomKilled: z.boolean(),
});

export const HostedFile = z.object({
  name: z.string(),
  kind: z.enum(["file", "directory", "symlink", "other"]),
  size: z.number(),
  modifiedAt: z.coerce.date(),
});

const Enforcement = z.enum([
  "cgroup2",
  "cgroup1",
  "watchdog",
  "rlimit",
  "engine",
  "provider",
  "quota",
  "none",
  "namespaces",
  "unsafe",
]);
const Used = z.number().nullable();

export const HostedInfo = z.object({
  state: z.enum(["running", "paused", "stopped"]),
  reason: z.string().nullable(),
  isOomKilled: z.boolean(),
  limits: z.object({ memoryBytes: z.number(), cpus: z.number(), diskBytes: z.number(), processes: z.number() }),
  enforcedBy: z.object({
    memory: Enforcement,
    cpu: Enforcement,
    disk: Enforcement,
    processes: Enforcement,
    network: Enforcement,
    isolation: Enforcement,
  }),
  ended: z.array(z.object({ argv: z.array(z.string()), code: z.int().nullable(), signal: z.string().nullable() })),
  usage: z.object({ memoryBytes: Used, diskBytes: Used, processes: Used }),
});
