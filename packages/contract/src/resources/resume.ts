/** What a run is gone on with in another sandbox: files, memory, and a summary for agents that cannot take the memory. */
import { z } from "zod";
import { ArtifactId, SandboxId } from "../ids.ts";
import type { Json } from "../json.ts";

/** What an agent remembers. `file`: one file in pieces; `directory`: its files as one JSON object of base64 texts; `mark`: inline. */
export const SavedTranscript = z.object({
  kind: z.enum(["file", "directory", "mark"]),
  runtime: z.string(),
  session_id: z.string(),
  artifacts: z.array(ArtifactId),
  mark: z.custom<Json>().optional(),
});
export type SavedTranscript = z.infer<typeof SavedTranscript>;

export const AssignedResume = z.object({
  from: SandboxId,
  /** The last event of the other run that counts. */
  at_seq: z.int().nonnegative(),
  /** A pack with one tree: the files. */
  workspace: z.object({ artifact: ArtifactId, tree: z.string() }).nullable(),
  transcript: SavedTranscript.nullable(),
  summary: z.string(),
  /** What a person asks for now; without it the agent is to go on. */
  prompt: z.string().nullable(),
});
export type AssignedResume = z.infer<typeof AssignedResume>;

export const Fork = z.strictObject({
  /** The last event that the fork knows; the newest unless told. */
  at_seq: z.int().nonnegative().max(Number.MAX_SAFE_INTEGER).optional(),
  prompt: z.string().min(1).max(100_000).optional(),
  /** Also when nothing of its memory is left. */
  fresh: z.boolean().optional(),
});
export type Fork = z.infer<typeof Fork>;
