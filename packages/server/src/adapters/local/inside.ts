/** What the server does inside a sandbox, through its supervisor. */
import { createWriteStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { AppError, CONTROL_FRAME, CONTROL_FRAME_LIMIT_BYTES, ControlFileEntry, ControlStatus } from "@drover/contract";
import type { ExecCommand, ExecEvent, FileEntry, Terminal } from "../../ports/sandbox-provider.ts";
import { INSIDE } from "./bubblewrap.ts";
import { callControl, openControl, parseExit, type ControlFrame } from "./control.ts";
import type { Note, Place } from "./places.ts";

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
    cwd: command.cwd ?? INSIDE.workspace,
    env: { ...note.env, ...command.env },
  };
  const call = openControl(place.control, request, ending);
  sendInput(call.send, command.stdin);
  try {
    for await (const frame of guard(call.frames)) {
      if (frame.type === CONTROL_FRAME.stdout) yield { type: "stdout", chunk: frame.bytes };
      else if (frame.type === CONTROL_FRAME.stderr) yield { type: "stderr", chunk: frame.bytes };
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
  const call = openControl(place.control, request, signal);
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
  path: string,
  bytes: Uint8Array,
  mode: number | undefined,
  signal: AbortSignal,
): Promise<void> {
  await callControl(
    place.control,
    mode === undefined ? { op: "write", path } : { op: "write", path, mode },
    signal,
    bytes,
  );
}

export const readInside = (place: Place, path: string, limit: number, signal: AbortSignal): Promise<Uint8Array> =>
  callControl(place.control, { op: "read", path, limit }, signal);

export async function listInside(place: Place, path: string, signal: AbortSignal): Promise<readonly FileEntry[]> {
  const lines = (await callControl(place.control, { op: "list", path }, signal))
    .toString("utf8")
    .split("\n")
    .filter(Boolean);
  return lines.map((line) => {
    const { name, kind, size, modified_ms } = ControlFileEntry.parse(JSON.parse(line));
    return { name, kind, size, modifiedAt: new Date(modified_ms) };
  });
}

export async function statusInside(place: Place, signal: AbortSignal) {
  const { processes } = ControlStatus.parse(
    JSON.parse((await callControl(place.control, { op: "status" }, signal)).toString("utf8")),
  );
  return processes.flatMap(({ argv, exit }) => (exit === null ? [] : [{ argv, code: exit.code, signal: exit.signal }]));
}

/** Workspace and home as a tar file of the host, streamed. */
export async function saveInside(place: Place, note: Note, target: string, signal: AbortSignal): Promise<void> {
  const argv: [string, ...string[]] = ["tar", "-C", "/", "-cf", "-", INSIDE.workspace.slice(1), INSIDE.home.slice(1)];
  const chunks = async function* () {
    for await (const event of execInside(place, note, { argv }, signal)) {
      if (event.type === "stdout") yield event.chunk;
      else if (event.type === "exit" && event.code !== 0)
        throw new AppError("sandbox.unavailable", "the sandbox could not be saved");
    }
  };
  await pipeline(chunks(), createWriteStream(target, { mode: 0o600 }));
}
