/** Goes on with another run: its files and what its agent remembered, before the agent is started. */
import { API_BASE, AppError, type AssignedResume, type Json } from "@drover/contract";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, isAbsolute, join, normalize } from "node:path";
import { z } from "zod";
import type { AgentRuntime, Resume } from "./agent-runtime.ts";
import { toDelayMs } from "./backoff.ts";
import type { Clock } from "./clock.ts";
import type { Log } from "./log.ts";
import type { Outbox } from "./outbox.ts";
import type { Transport } from "./transport.ts";
import { toVerdict } from "./verdict.ts";
import type { WorkspaceWatch } from "./watch-workspace.ts";

const NOTE = "restored";
const TIMEOUT_MS = 120_000;
const ATTEMPTS = 8;

const Restored = z.object({
  sessionId: z.string(),
  how: z.enum(["native", "reseeded", "fresh"]),
  preface: z.string().optional(),
});

export interface RestoreParts {
  readonly outbox: Outbox;
  readonly transport: Transport;
  readonly sandboxId: string;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
  readonly watch: WorkspaceWatch;
  readonly runtime: AgentRuntime;
  /** As the server calls it. */
  readonly runtimeName: string;
  readonly home: string;
  readonly cwd: string;
  /** What lies in the workspace is ours to replace: a provider made it. */
  readonly isOurs: boolean;
}

async function fetchBytes(parts: RestoreParts, artifact: string, signal: AbortSignal): Promise<Buffer> {
  const path = `${API_BASE}/sandboxes/${parts.sandboxId}/restore/${artifact}`;
  for (let failures = 1; ; failures++) {
    const reply = await parts.transport.send({ method: "GET", path, timeoutMs: TIMEOUT_MS }, signal);
    const verdict = toVerdict(reply);
    if (verdict.kind === "ok" && reply.kind === "reply" && reply.bytes !== undefined) return reply.bytes;
    const detail =
      verdict.kind === "ok" ? "no bytes" : verdict.kind === "ended" ? verdict.ending.detail : verdict.detail;
    if (verdict.kind !== "retry" || failures === ATTEMPTS || signal.aborted)
      throw new AppError("config.invalid", `what is to be gone on with could not be fetched: ${detail}`);
    await parts.clock.sleep(toDelayMs(failures, verdict.afterSeconds, parts.random), signal);
  }
}

async function restoreFiles(parts: RestoreParts, given: AssignedResume, signal: AbortSignal) {
  if (given.workspace === null) return "none";
  const pack = await fetchBytes(parts, given.workspace.artifact, signal);
  return (await parts.watch.restore(pack, given.workspace.tree, parts.isOurs)) ? "restored" : "kept";
}

const Files = z.record(z.string(), z.string());

async function writeDirectory(path: string, bytes: Buffer): Promise<void> {
  for (const [name, text] of Object.entries(Files.parse(JSON.parse(bytes.toString("utf8"))))) {
    if (isAbsolute(name) || normalize(name).startsWith("..")) continue;
    await mkdir(dirname(join(path, name)), { recursive: true, mode: 0o700 });
    await writeFile(join(path, name), Buffer.from(text, "base64"), { mode: 0o600 });
  }
}

/** Whether the agent will find its memory; what it cannot read of another runtime is of no use to it. */
async function restoreTranscript(parts: RestoreParts, given: AssignedResume, signal: AbortSignal): Promise<boolean> {
  const { transcript } = given;
  const { runtime } = parts;
  if (transcript === null || transcript.runtime !== parts.runtimeName || runtime.capabilities.resume !== "native")
    return false;
  if (transcript.kind === "mark") return runtime.isWholeInMark !== undefined && transcript.mark !== undefined;
  const path = runtime.transcriptPath?.(parts, transcript.session_id);
  if (path === undefined || transcript.artifacts.length === 0) return false;
  const pieces: Buffer[] = [];
  for (const artifact of transcript.artifacts) pieces.push(await fetchBytes(parts, artifact, signal));
  const bytes = Buffer.concat(pieces);
  if (transcript.kind === "directory") await writeDirectory(path, bytes);
  else {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await writeFile(path, bytes, { mode: 0o600 });
  }
  return true;
}

function toResume(given: AssignedResume, isRemembered: boolean): Resume {
  const sessionId = given.transcript?.session_id ?? "";
  if (isRemembered) return { sessionId, how: "native" };
  if (given.summary !== "") return { sessionId, how: "reseeded", preface: given.summary };
  return { sessionId, how: "fresh" };
}

/** Done once per journal: a worker that has a life of its own behind it goes on with that. */
export async function restoreRun(
  parts: RestoreParts,
  given: AssignedResume | null,
  signal: AbortSignal,
): Promise<Resume | null> {
  const { outbox } = parts;
  const restored = Restored.safeParse(outbox.getNote(NOTE)).data;
  if (restored !== undefined) {
    const { preface, ...rest } = restored;
    return { ...rest, ...(preface === undefined ? {} : { preface }) };
  }
  if (given === null || outbox.last > 0 || outbox.getNote("mark") !== undefined) return null;
  await mkdir(parts.cwd, { recursive: true });
  const files = await restoreFiles(parts, given, signal);
  const resume = toResume(given, await restoreTranscript(parts, given, signal));
  const mark = resume.how === "native" && given.transcript?.kind === "mark" ? given.transcript.mark : undefined;
  await outbox.append(
    [
      {
        event_type: "agent.resumed",
        source: "worker",
        event_data: {
          turn: 0,
          how: resume.how,
          from: given.from,
          at_seq: given.at_seq,
          session_id: resume.sessionId,
          files,
        },
      },
    ],
    { [NOTE]: JSON.parse(JSON.stringify(resume)) as Json, ...(mark === undefined ? {} : { mark }) },
  );
  return resume;
}

/** A session that the worker's own environment names: gone on with where the agent will find its memory, else begun afresh. */
export async function restoreNamed(
  { runtime, home, cwd }: Pick<RestoreParts, "runtime" | "home" | "cwd">,
  sessionId: string,
  transcript: Buffer | undefined,
): Promise<Resume> {
  const path = runtime.transcriptPath?.({ home, cwd }, sessionId);
  if (path?.endsWith(".jsonl") === true && transcript !== undefined && !existsSync(path)) {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await writeFile(path, transcript, { mode: 0o600 });
  }
  const isKept = path === undefined ? runtime.capabilities.resume === "native" : existsSync(path);
  return { sessionId, how: isKept ? "native" : "fresh" };
}

const GO_ON = "Go on where you stopped.";

/** What the agent is asked first: one that remembers needs no repetition. */
export function toResumedPrompt(resume: Resume | null, given: AssignedResume | null, prompt: string): string {
  if (resume === null || given === null) return prompt;
  if (given.prompt !== null) return given.prompt;
  return resume.how === "native" ? GO_ON : prompt;
}
