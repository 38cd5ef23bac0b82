/** Runs one process for the server: its streams as frames, its end as the last one, its whole group killed with the connection. */
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CONTROL_FRAME, ControlResize, type ControlExit, type ControlRequest } from "@drover/contract";
import { writeFrame, writeJson, type Frame } from "./control-frames.ts";

type ExecRequest = Extract<ControlRequest, { op: "exec" }>;

const SHELL_QUOTE = (word: string) => `'${word.replaceAll("'", `'\\''`)}'`;

/** `script` gives the command a terminal of its own; the inner shell notes its name, so that its size can be set from outside. */
function toTerminalArgv(request: ExecRequest, ttyFile: string): readonly string[] {
  const { columns, rows } = request.terminal ?? { columns: 80, rows: 24 };
  const setUp = `stty cols ${columns} rows ${rows}; tty > ${SHELL_QUOTE(ttyFile)}`;
  return ["script", "-qefc", `${setUp}; exec ${request.argv.map(SHELL_QUOTE).join(" ")}`, "/dev/null"];
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    // Expected: the group has ended already.
  }
}

export const toExit = (code: number | null, signal: NodeJS.Signals | null): ControlExit => ({ code, signal });

export function runProcess(
  socket: Socket,
  request: ExecRequest,
  env: NodeJS.ProcessEnv,
  onDetached: (child: ChildProcess) => void,
): (frame: Frame) => void {
  const scratch = request.terminal === undefined ? undefined : mkdtempSync(join(tmpdir(), "tty-"));
  const ttyFile = join(scratch ?? "", "name");
  const [program = "", ...args] = scratch === undefined ? request.argv : toTerminalArgv(request, ttyFile);
  const isDetached = request.is_detached === true;
  const child = spawn(program, args, {
    cwd: request.cwd,
    env: { ...env, ...request.env },
    detached: true,
    stdio: isDetached ? "ignore" : ["pipe", "pipe", "pipe"],
  });
  child.once("error", (error: NodeJS.ErrnoException) => {
    writeJson(socket, CONTROL_FRAME.refused, { code: error.code ?? "EUNKNOWN", message: error.message });
    socket.end();
  });
  if (isDetached) {
    child.once("spawn", () => {
      onDetached(child);
      writeJson(socket, CONTROL_FRAME.exit, { code: 0, signal: null });
      socket.end();
    });
    return () => undefined;
  }
  for (const [stream, type] of [
    [child.stdout, CONTROL_FRAME.stdout],
    [child.stderr, CONTROL_FRAME.stderr],
  ] as const) {
    stream?.on("data", (chunk: Buffer) => {
      if (!writeFrame(socket, type, chunk)) stream.pause();
    });
    socket.on("drain", () => stream?.resume());
  }
  child.stdin?.on("error", () => undefined);
  child.once("close", (code, signal) => {
    if (scratch !== undefined) rmSync(scratch, { recursive: true, force: true });
    killGroup(child);
    writeJson(socket, CONTROL_FRAME.exit, toExit(code, signal));
    socket.end();
  });
  socket.once("close", () => killGroup(child));
  return (frame) => {
    if (frame.type === CONTROL_FRAME.stdin) child.stdin?.write(frame.bytes);
    else if (frame.type === CONTROL_FRAME.stdinEnd) child.stdin?.end();
    else if (frame.type === CONTROL_FRAME.resize) {
      const size = ControlResize.safeParse(JSON.parse(frame.bytes.toString("utf8")));
      // Expected: the terminal has not noted its name yet; the next resize finds it.
      if (size.success) setTerminalSize(ttyFile, size.data.columns, size.data.rows);
    }
  };
}

function setTerminalSize(ttyFile: string, columns: number, rows: number): void {
  try {
    const tty = readFileSync(ttyFile, "utf8").trim();
    if (/^\/dev\/pts\/\d+$/.test(tty)) spawnSync("stty", ["-F", tty, "cols", String(columns), "rows", String(rows)]);
  } catch {
    // Expected: the terminal is still starting or has ended.
  }
}
