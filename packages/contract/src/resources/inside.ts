/** What people see and do inside a sandbox: commands, files, the worker's log, recordings of terminals. */
import { z } from "zod";
import { ArtifactId, EventId, SandboxId } from "../ids.ts";
import { Timestamp } from "../time.ts";
import { EnvName } from "./sandbox.ts";

const EXEC_SECONDS_LIMIT = 3_600;

/** A relative one counts from the workspace. */
const InsidePath = z.string().min(1).max(4_096);

export const NewExec = z.strictObject({
  argv: z.array(z.string().max(131_072)).min(1).max(1_000),
  cwd: InsidePath.optional(),
  env: z.record(EnvName, z.string().max(32_768)).optional(),
  timeout_s: z.number().positive().max(EXEC_SECONDS_LIMIT).default(60),
});
export type NewExec = z.infer<typeof NewExec>;

/** How a command ended. `exit_code` is null when a signal ended it; of long output the beginning is kept. */
export const ExecResult = z.object({
  exit_code: z.int().nullable(),
  signal: z.string().optional(),
  stdout: z.string(),
  stderr: z.string(),
  stdout_truncated: z.boolean(),
  stderr_truncated: z.boolean(),
  /** Bytes that are not UTF-8 stand as U+FFFD: the text is not what was written. */
  stdout_lossy: z.boolean(),
  stderr_lossy: z.boolean(),
  timed_out: z.boolean(),
  oom_killed: z.boolean(),
});
export type ExecResult = z.infer<typeof ExecResult>;

/** As it was after the event with this `seq`, from the last checkpoint; also when the sandbox is gone. */
const AtSeq = z.coerce.number().int().nonnegative().max(Number.MAX_SAFE_INTEGER).optional();

export const FilesQuery = z.strictObject({ path: InsidePath.default("/workspace"), at_seq: AtSeq });
export const FileQuery = z.strictObject({ path: InsidePath, at_seq: AtSeq });

export const FileList = z.object({
  path: z.string(),
  entries: z.array(
    z.object({
      name: z.string(),
      kind: z.enum(["file", "directory", "symlink", "other"]),
      size: z.number().nonnegative(),
      modified_at: Timestamp,
    }),
  ),
});
export type FileList = z.infer<typeof FileList>;

/** Without `offset` the end of the log; with it what follows, so that a reader can go on where it stopped. */
export const LogsQuery = z.strictObject({
  bytes: z.coerce.number().int().min(1).max(1_048_576).default(65_536),
  offset: z.coerce.number().int().nonnegative().max(Number.MAX_SAFE_INTEGER).optional(),
});
export type LogsQuery = z.infer<typeof LogsQuery>;

/** What the worker wrote to its standard error; a claim of the sandbox, like everything from inside. */
export const WorkerLog = z.object({
  sandbox_id: SandboxId,
  /** `sandbox`: read from it now. `kept`: what was saved before it was destroyed. `none`: nothing was saved. */
  source: z.enum(["sandbox", "kept", "none"]),
  text: z.string(),
  /** Bytes of the whole log before `text`, and where reading goes on. */
  offset: z.int().nonnegative(),
  next_offset: z.int().nonnegative(),
});
export type WorkerLog = z.infer<typeof WorkerLog>;

/** The output of one terminal as asciicast v2; what was typed is never in it unless the terminal echoed it. */
export const Recording = z.object({
  artifact_id: ArtifactId,
  event_id: EventId,
  size: z.int().nonnegative(),
  columns: z.int().positive(),
  rows: z.int().positive(),
  duration_ms: z.int().nonnegative(),
  /** The recording was full before the terminal was closed. */
  is_truncated: z.boolean(),
  opened_by: z.string().nullable(),
  recorded_at: Timestamp,
});
export type Recording = z.infer<typeof Recording>;
