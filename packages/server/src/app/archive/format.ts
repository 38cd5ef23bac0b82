/** What stands in an archive, and the chain over its events. See docs/ARCHIVE.md. */
import { createHash } from "node:crypto";
import { EventSource, EventType, JsonObject, Provider, SandboxId, SandboxState, Timestamp } from "@drover/contract";
import { z } from "zod";

export const FORMAT = "drover-archive";
export const VERSION = 1;
export const SESSION = "session.json";
export const BUNDLE = "workspace.bundle";
export const MANIFEST = "manifest.json";
export const SEAL = "seal.sha256";
export const SESSION_BYTES = 1024 * 1024;
/** Of a part of events, transcript or diffs. */
export const PART_BYTES = 4 * 1024 * 1024;
export const PART_LIMIT_BYTES = 3 * PART_BYTES;
export const MANIFEST_BYTES = 64 * 1024 * 1024;

const Count = z.int().nonnegative();

export const Session = z.strictObject({
  format: z.literal(FORMAT),
  version: z.literal(VERSION),
  exported_at: Timestamp,
  /** Why the workspace is not in the archive; null when it is, or when there was none. */
  workspace_withheld: z.string().max(500).nullable(),
  /** Artifacts that the server no longer had. */
  missing_artifacts: Count,
  sandbox: z.strictObject({
    id: SandboxId,
    state: SandboxState,
    state_cause: z.string().max(10_000).nullable(),
    generation: z.int().positive(),
    provider: Provider,
    runtime: z.string().max(200).nullable(),
    model: z.string().max(300).nullable(),
    prompt: z.string().max(1_000_000).nullable(),
    base_branch: z.string().max(500).nullable(),
    branch: z.string().max(500).nullable(),
    labels: z.record(z.string().max(200), z.string().max(2_000)),
    created_at: Timestamp,
    started_at: Timestamp.nullable(),
    ended_at: Timestamp.nullable(),
    turn: Count,
    cost_usd: z.number().nonnegative(),
    input_tokens: Count,
    output_tokens: Count,
    cache_read_tokens: Count,
    cache_write_tokens: Count,
  }),
});
export type Session = z.infer<typeof Session>;

export const ArchivedEvent = z.strictObject({
  sandbox_id: SandboxId,
  sandbox_seq: z.int().positive(),
  event_type: EventType,
  event_data: JsonObject,
  source: EventSource,
  created_at: Timestamp,
  generation: z.int().positive().nullable(),
  /** The number of the event that caused it, if that is one of this session. */
  caused_by_seq: z.int().positive().nullable(),
});
export type ArchivedEvent = z.infer<typeof ArchivedEvent>;

const hex = (...parts: readonly (string | Uint8Array)[]): string => {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest("hex");
};

/** The chain begins with what the session says of itself. */
export const startChain = (session: Uint8Array): string => hex(`${FORMAT} ${VERSION}\n`, session);

export const chain = (before: string, event: string): string => hex(before, "\n", event);

const LINE = /^\{"hash":"([0-9a-f]{64})","event":(\{.*\})\}$/s;

/** JSON all the same; what is hashed are the bytes of `event` as they stand there. */
export const toLine = (hash: string, event: string): string => `{"hash":"${hash}","event":${event}}\n`;

export function parseLine(line: string): { readonly hash: string; readonly event: string } | undefined {
  const [, hash, event] = LINE.exec(line) ?? [];
  return hash === undefined || event === undefined ? undefined : { hash, event };
}

export interface ListedFile {
  readonly path: string;
  readonly size: number;
  readonly sha256: string;
}

/** One text for one archive: whoever checks it writes it anew and compares. */
export const toManifest = (
  sandboxId: string,
  events: { readonly count: number; readonly head: string },
  files: readonly ListedFile[],
): string => `${JSON.stringify({ format: FORMAT, version: VERSION, sandbox_id: sandboxId, events, files }, null, 1)}\n`;

export const toPart = (folder: string, number: number, ending: string): string =>
  `${folder}/${String(number).padStart(6, "0")}.${ending}`;
