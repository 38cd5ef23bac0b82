/** What the server does inside a sandbox, through its supervisor. */
import { createWriteStream } from "node:fs";
import { open, rename, rm } from "node:fs/promises";
import { posix } from "node:path";
import { pipeline } from "node:stream/promises";
import { AppError, CONTROL_FRAME, CONTROL_FRAME_LIMIT_BYTES, ControlFileEntry, ControlStatus } from "@drover/contract";
import type { ExecCommand, ExecEvent, FileEntry, Terminal } from "../../ports/sandbox-provider.ts";
import { INSIDE } from "./bubblewrap.ts";
import { callControl, openControl, parseClaim, parseExit, parseRefusal, type ControlFrame } from "./control.ts";
import type { Note, Place } from "./places.ts";

/** Of a path inside. The supervisor's own directory may be the one that the disk was mounted over, so nothing counts from there. */
export const toAbsolute = (path: string): string => posix.resolve(INSIDE.workspace, path);

/** The last moment that a date can name. */
const LAST_DATE_MS = 8.64e15;

function sendInput(send: (type: number, bytes: Uint8Array) => void, input: Uint8Array | undefined): void {
  for (let start = 0; input !== undefined && start < input.length; start += CONTROL_FRAME_LIMIT_BYTES) {
    send(CONTROL_FRAME.stdin, input.subarray(start, start + CONTROL_FRAME_LIMIT_BYTES));
  }
  send(CONTROL_FRAME.stdinEnd, new Uint8Array());
}

/** A lost connection is the end of the sandbox, or of our patience with the command. */
async function* guard(frames: AsyncIterable<ControlFrame>): AsyncGenerator<ControlFrame> {
  try {
    yield* frames;
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new AppError("sandbox.unavailable", "the sandbox does not answer", { cause: error });
  }
}

/** `isOomKilled` is the caller's to find out: only the host's counters know. */
export async function* execInside(
  place: Place,
  note: Note,
  command: ExecCommand,
  signal: AbortSignal,
): AsyncGenerator<ExecEvent> {
  const timeout = command.timeoutMs === undefined ? undefined : AbortSignal.timeout(command.timeoutMs);
  const ending = timeout === undefined ? signal : AbortSignal.any([signal, timeout]);
  const request = {
    op: "exec" as const,
    argv: [...command.argv],
    cwd: toAbsolute(command.cwd ?? ""),
    env: { ...note.env, ...command.env },
  };
  const call = openControl(place, request, ending);
  sendInput(call.send, command.stdin);
  try {
    for await (const frame of guard(call.frames)) {
      if (frame.type === CONTROL_FRAME.stdout) yield { type: "stdout", chunk: frame.bytes };
      else if (frame.type === CONTROL_FRAME.stderr) yield { type: "stderr", chunk: frame.bytes };
      else if (frame.type === CONTROL_FRAME.refused) throw parseRefusal(frame.bytes);
      else if (frame.type === CONTROL_FRAME.exit)
        return yield { type: "exit", ...parseExit(frame.bytes), isTimedOut: false, isOomKilled: false };
    }
  } catch (error) {
    // Expected: the caller's abort or our own time limit; hanging up has killed the command's whole group.
    if (!ending.aborted) throw error;
    const isTimedOut = !signal.aborted;
    return yield { type: "exit", code: null, signal: "SIGKILL", isTimedOut, isOomKilled: false };
  } finally {
    call.close();
  }
  throw new AppError("sandbox.unavailable", "the sandbox ended while the command ran");
}

export async function openTerminalInside(
  place: Place,
  note: Note,
  size: { readonly columns: number; readonly rows: number },
  signal: AbortSignal,
): Promise<Terminal> {
  const request = {
    op: "exec" as const,
    argv: ["/bin/bash", "-l"],
    cwd: INSIDE.workspace,
    env: { ...note.env, TERM: "xterm-256color" },
    terminal: size,
  };
  const call = openControl(place, request, signal);
  const exited = Promise.withResolvers<{ code: number | null }>();
  let isClosed = false;
  const output = async function* (): AsyncGenerator<Uint8Array> {
    try {
      for await (const frame of guard(call.frames)) {
        if (frame.type === CONTROL_FRAME.stdout || frame.type === CONTROL_FRAME.stderr) yield frame.bytes;
        else if (frame.type === CONTROL_FRAME.exit) exited.resolve({ code: parseExit(frame.bytes).code });
      }
    } catch (error) {
      // Expected: whoever opened it closed it.
      if (!isClosed && !signal.aborted) throw error;
    } finally {
      exited.resolve({ code: null });
    }
  };
  return {
    output: output(),
    write: (bytes) => call.send(CONTROL_FRAME.stdin, bytes),
    resize: (columns, rows) => call.send(CONTROL_FRAME.resize, Buffer.from(JSON.stringify({ columns, rows }))),
    exited: exited.promise,
    close: () => {
      isClosed = true;
      call.close();
    },
  };
}

export async function writeInside(
  place: Place,
  given: string,
  bytes: Uint8Array,
  mode: number | undefined,
  signal: AbortSignal,
): Promise<void> {
  const path = toAbsolute(given);
  const request = mode === undefined ? ({ op: "write", path } as const) : ({ op: "write", path, mode } as const);
  await callControl(place, request, signal, { input: bytes });
}

export const readInside = (place: Place, path: string, limit: number, signal: AbortSignal): Promise<Uint8Array> =>
  callControl(place, { op: "read", path: toAbsolute(path), limit }, signal, { limitBytes: limit });

export async function listInside(place: Place, path: string, signal: AbortSignal): Promise<readonly FileEntry[]> {
  const lines = (await callControl(place, { op: "list", path: toAbsolute(path) }, signal))
    .toString("utf8")
    .split("\n")
    .filter(Boolean);
  return lines.map((line) => {
    const { name, kind, size, modified_ms } = parseClaim(ControlFileEntry, Buffer.from(line));
    // A file may claim any time, also one that is no date.
    const ms = Math.min(LAST_DATE_MS, Math.max(-LAST_DATE_MS, modified_ms));
    return { name, kind, size, modifiedAt: new Date(ms) };
  });
}

export async function statusInside(place: Place, signal: AbortSignal) {
  const { processes } = parseClaim(ControlStatus, await callControl(place, { op: "status" }, signal));
  return processes.flatMap(({ argv, exit }) => (exit === null ? [] : [{ argv, code: exit.code, signal: exit.signal }]));
}

const TREES = [INSIDE.workspace.slice(1), INSIDE.home.slice(1)];
/** Headers of a tar file for every file of a full disk. */
const SAVED_SLACK_BYTES = 256 * 1024 * 1024;

/** Workspace and home as a tar file of the host, streamed. Holes stay holes, and what claims to be larger than the disk is refused. */
export async function saveInside(place: Place, note: Note, target: string, signal: AbortSignal): Promise<void> {
  const argv: [string, ...string[]] = ["tar", "-C", "/", "--sparse", "-cf", "-", ...TREES];
  const limitBytes = note.limits.diskBytes + SAVED_SLACK_BYTES;
  const chunks = async function* () {
    let size = 0;
    for await (const event of execInside(place, note, { argv }, signal)) {
      if (event.type === "stdout") {
        size += event.chunk.length;
        if (size > limitBytes) throw new AppError("sandbox.rejected", `the snapshot has more than ${limitBytes} bytes`);
        yield event.chunk;
      } else if (event.type === "exit" && event.code !== 0)
        throw new AppError("sandbox.unavailable", "the sandbox could not be saved");
    }
  };
  try {
    await pipeline(chunks(), createWriteStream(`${target}.part`, { mode: 0o600 }));
    await rename(`${target}.part`, target);
  } finally {
    await rm(`${target}.part`, { force: true });
  }
}

/** The other way round: a tar file of the host into workspace and home. */
export async function restoreInside(place: Place, note: Note, source: string, signal: AbortSignal): Promise<void> {
  const request = { op: "exec" as const, argv: ["tar", "-C", "/", "-xf", "-"], cwd: INSIDE.workspace, env: note.env };
  const call = openControl(place, request, signal);
  const feed = async () => {
    const file = await open(source);
    for await (const chunk of file.createReadStream({
      highWaterMark: CONTROL_FRAME_LIMIT_BYTES,
    }) as AsyncIterable<Buffer>) {
      call.send(CONTROL_FRAME.stdin, chunk);
      if (!(await call.drained())) return;
    }
    call.send(CONTROL_FRAME.stdinEnd, new Uint8Array());
  };
  const fed = feed();
  // Reading reports what matters; feeding ends with the connection.
  fed.catch(() => call.close());
  try {
    for await (const frame of guard(call.frames)) {
      if (frame.type !== CONTROL_FRAME.exit) continue;
      if (parseExit(frame.bytes).code === 0) return;
      throw new AppError("sandbox.rejected", "the snapshot could not be restored");
    }
  } finally {
    call.close();
    await fed.catch(() => undefined);
  }
  throw new AppError("sandbox.unavailable", "the sandbox ended while it was restored");
}
