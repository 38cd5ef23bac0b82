/** Saves what the agent remembers as it grows, so that another sandbox can go on with it. */
import { createHash } from "node:crypto";
import { open, readdir, readFile, stat } from "node:fs/promises";
import { join, relative } from "node:path";
import type { AgentEvent, AgentRuntime, AgentStep, WorkOrder } from "./agent-runtime.ts";
import type { Clock } from "./clock.ts";
import { toEventData } from "@drover/contract";
import type { Log } from "./log.ts";
import type { Outbox } from "./outbox.ts";

const EVERY_MS = 1_000;
/** A directory is saved as a whole: while the agent works, the more rarely the more there is. */
const DIRECTORY_LOOKS = { fewest: 2, most: 30, bytesEach: 16 * 1024 };
const PIECE_BYTES = 8 * 1024 * 1024;
const DIRECTORY_BYTES = 48 * 1024 * 1024;
const MARK_CHARACTERS = 100_000;
/** A file that was only appended to still begins with these. */
const HEAD_BYTES = 4_096;

export interface TranscriptParts {
  readonly runtime: AgentRuntime;
  readonly order: Pick<WorkOrder, "home" | "cwd" | "env" | "keepArtifact">;
  readonly getSessionId: () => string | undefined;
  readonly log: Log;
}

/** `running`: the agent writes meanwhile; `still`: a turn is over. */
type Look = "running" | "still";

export interface Transcript {
  /** What is new since the last time; nothing when nothing is. Never throws. */
  save(turn: number, look: Look): Promise<readonly AgentEvent[]>;
  /** For agents of which the mark is enough. */
  saveMark(turn: number, step: AgentStep): readonly AgentEvent[];
}

const toSaved = (turn: number, data: Readonly<Record<string, unknown>>): AgentEvent => ({
  event_type: "agent.transcript_saved",
  event_data: { turn, ...data },
});

async function listFiles(folder: string): Promise<readonly string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
    .toSorted();
}

export function openTranscript(parts: TranscriptParts): Transcript {
  const { runtime, order } = parts;
  let last: Promise<unknown> = Promise.resolve();
  let saved = { path: "", bytes: 0, head: "", seen: "" };
  /** Looks at a directory at work that are passed over. */
  let resting = 0;

  const readPiece = async (path: string, from: number, to: number) => {
    const file = await open(path, "r");
    try {
      const bytes = Buffer.alloc(to - from);
      const { bytesRead } = await file.read(bytes, 0, bytes.length, from);
      return bytes.subarray(0, bytesRead);
    } finally {
      await file.close();
    }
  };

  const saveFile = async (turn: number, sessionId: string, path: string, size: number) => {
    const head = createHash("sha256")
      .update(await readPiece(path, 0, Math.min(size, HEAD_BYTES, saved.path === path ? saved.bytes : HEAD_BYTES)))
      .digest("hex");
    const isGrown = saved.path === path && size >= saved.bytes && (saved.bytes < HEAD_BYTES || head === saved.head);
    if (!isGrown) saved = { path, bytes: 0, head: "", seen: "" };
    const events: AgentEvent[] = [];
    while (saved.bytes < size) {
      const piece = await readPiece(path, saved.bytes, Math.min(size, saved.bytes + PIECE_BYTES));
      if (piece.length === 0) break;
      const artifact = await order.keepArtifact(piece);
      events.push(
        toSaved(turn, { kind: "file", session_id: sessionId, artifact, offset: saved.bytes, size: piece.length }),
      );
      saved = { path, bytes: saved.bytes + piece.length, head, seen: "" };
    }
    return events;
  };

  const saveDirectory = async (turn: number, sessionId: string, path: string, look: Look) => {
    const { fewest, most, bytesEach } = DIRECTORY_LOOKS;
    if (look === "running" && (resting -= 1) > 0) return [];
    resting = most;
    const names = await listFiles(path);
    // Files of a database fit together only while nobody writes.
    if (look === "running" && names.some((name) => name.endsWith("-wal"))) return [];
    const abouts = await Promise.all(names.map((name) => stat(join(path, name))));
    const size = abouts.reduce((sum, about) => sum + about.size, 0);
    resting = Math.min(most, Math.max(fewest, Math.round(size / bytesEach)));
    const seen = names.map((name, index) => `${name} ${abouts[index]?.size} ${abouts[index]?.mtimeMs}`).join("\n");
    if (saved.path === path && saved.seen === seen) return [];
    if (size > DIRECTORY_BYTES) return [];
    const files: Record<string, string> = {};
    for (const name of names) files[name] = (await readFile(join(path, name))).toString("base64");
    const bytes = Buffer.from(JSON.stringify(files));
    const artifact = await order.keepArtifact(bytes);
    saved = { path, bytes: 0, head: "", seen };
    return [toSaved(turn, { kind: "directory", session_id: sessionId, artifact, offset: 0, size: bytes.length })];
  };

  const save = async (turn: number, look: Look): Promise<readonly AgentEvent[]> => {
    const sessionId = parts.getSessionId();
    const path = sessionId === undefined ? undefined : runtime.transcriptPath?.(order, sessionId);
    if (sessionId === undefined || path === undefined) return [];
    const about = await stat(path).catch(() => undefined); // the agent has written nothing yet
    if (about?.isFile() === true) return saveFile(turn, sessionId, path, about.size);
    return about?.isDirectory() === true ? saveDirectory(turn, sessionId, path, look) : [];
  };

  return {
    save(turn, look) {
      const done = last
        .then(() => save(turn, look))
        .catch((error: unknown): readonly AgentEvent[] => {
          // Expected: the agent replaces its file in this moment. The next time finds the new one.
          parts.log("transcript.unsaved", { reason: String(error) });
          return [];
        });
      last = done;
      return done;
    },
    saveMark(turn, { mark }) {
      if (mark === undefined || runtime.isWholeInMark?.(order) !== true) return [];
      if (JSON.stringify(mark).length > MARK_CHARACTERS) return [];
      return [toSaved(turn, { kind: "mark", session_id: parts.getSessionId() ?? "", mark })];
    },
  };
}

/** Between boundaries too: what the agent thinks while a tool runs is not to be lost with the machine. */
export function startSaving(
  transcript: Transcript,
  { outbox, clock, getTurn }: { readonly outbox: Outbox; readonly clock: Clock; readonly getTurn: () => number },
  signal: AbortSignal,
): { readonly done: Promise<void> } {
  const run = async () => {
    while (!signal.aborted) {
      await clock.sleep(EVERY_MS, signal);
      const events = await transcript.save(getTurn(), "running");
      if (events.length === 0) continue;
      const recorded = events.map((event) => ({
        ...event,
        source: "worker" as const,
        event_data: toEventData(event.event_data),
      }));
      await outbox.append(recorded).catch(() => {}); // the journal was closed over us
    }
  };
  return { done: run() };
}
