/** Runs one process for the server: its streams as frames, its end as the last one, its whole group killed with the connection. */
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import type { Socket } from "node:net";
import { join } from "node:path";
import type { ControlExit, ControlRequest } from "@drover/contract";
import { CONTROL_FRAME } from "@drover/contract/control-frame";
import { writeFrame, writeJson, type Frame } from "./control-frames.ts";
import { parseSize } from "./parse-request.ts";

type ExecRequest = Extract<ControlRequest, { op: "exec" }>;

/** What a shell would answer when a program is missing or may not run. */
const NOT_FOUND: ControlExit = { code: 127, signal: null };
const NOT_EXECUTABLE: ControlExit = { code: 126, signal: null };
/** Output written just before the end is still on its way. */
const LAST_WORDS_MS = 50;
/** What stood in a pipe has been read by then; what goes on in the background is not waited for. */
const MOST_LOOKS = 20;

const quote = (word: string) => `'${word.replaceAll("'", `'\\''`)}'`;

/** `script` takes its command as a line of shell: every word is quoted. The shell notes its terminal, so that it can be resized. */
function toTerminalArgv(request: ExecRequest, ttyFile: string): readonly string[] {
  const { columns, rows } = request.terminal ?? { columns: 80, rows: 24 };
  const setUp = `stty cols ${columns} rows ${rows}; tty > ${quote(ttyFile)}`;
  return ["script", "-qefc", `${setUp}; exec ${request.argv.map(quote).join(" ")}`, "/dev/null"];
}

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    // Expected: the group has ended already.
  }
}

function setTerminalSize(ttyFile: string, frame: Frame): void {
  try {
    const { columns, rows } = parseSize(JSON.parse(frame.bytes.toString("utf8")));
    const tty = readFileSync(ttyFile, "utf8").trim();
    if (/^\/dev\/pts\/\d+$/.test(tty)) spawnSync("stty", ["-F", tty, "cols", String(columns), "rows", String(rows)]);
  } catch {
    // Expected: the terminal is still starting or has ended.
  }
}

const feed = (child: ChildProcess, frame: Frame) => {
  if (frame.type === CONTROL_FRAME.stdin) child.stdin?.write(frame.bytes);
  else if (frame.type === CONTROL_FRAME.stdinEnd) child.stdin?.end();
};

const toFailure = (error: NodeJS.ErrnoException) => (error.code === "EACCES" ? NOT_EXECUTABLE : NOT_FOUND);

/** Goes on by itself; `onEnd` is called once, also when it never began. The answer is given as soon as it has its input. */
export function runDetached(
  socket: Socket,
  request: ExecRequest,
  env: NodeJS.ProcessEnv,
  onEnd: (exit: ControlExit) => void,
): (frame: Frame) => void {
  const [program = "", ...args] = request.argv;
  const options = { cwd: request.cwd, env: { ...env, ...request.env }, detached: true };
  const child = spawn(program, args, { ...options, stdio: ["pipe", "ignore", "ignore"] });
  child.once("error", (error) => onEnd(toFailure(error)));
  child.once("exit", (code, signal) => onEnd({ code, signal }));
  child.stdin.on("error", () => undefined);
  return (frame) => {
    feed(child, frame);
    if (frame.type !== CONTROL_FRAME.stdinEnd) return;
    writeJson(socket, CONTROL_FRAME.exit, { code: 0, signal: null });
    socket.end();
  };
}

/** An error of the start would name the program. */
function requireDirectory(request: ExecRequest): ExecRequest {
  const { cwd } = request;
  if (cwd === undefined || existsSync(`${cwd}/.`)) return request;
  return { ...request, argv: ["/bin/sh", "-c", 'echo "$0: no such directory" >&2; exit 126', cwd], cwd: "/" };
}

export function runProcess(socket: Socket, asked: ExecRequest, env: NodeJS.ProcessEnv): (frame: Frame) => void {
  const request = requireDirectory(asked);
  const scratch = request.terminal === undefined ? undefined : mkdtempSync("/tmp/tty-");
  const ttyFile = join(scratch ?? "", "name");
  const [program = "", ...args] = scratch === undefined ? request.argv : toTerminalArgv(request, ttyFile);
  const options = { cwd: request.cwd, env: { ...env, ...request.env }, detached: true };
  const child = spawn(program, args, { ...options, stdio: ["pipe", "pipe", "pipe"] });
  let isOver = false;
  let said = 0;
  const finish = (exit: ControlExit) => {
    if (isOver) return;
    isOver = true;
    if (scratch !== undefined) rmSync(scratch, { recursive: true, force: true });
    writeJson(socket, CONTROL_FRAME.exit, exit);
    socket.end();
  };
  child.once("error", (error: NodeJS.ErrnoException) => {
    writeFrame(socket, CONTROL_FRAME.stderr, Buffer.from(`${program}: ${error.message}\n`));
    finish(toFailure(error));
  });
  const streams = [
    [child.stdout, CONTROL_FRAME.stdout],
    [child.stderr, CONTROL_FRAME.stderr],
  ] as const;
  for (const [stream, type] of streams) {
    stream.on("data", (chunk: Buffer) => {
      said += chunk.length;
      if (!isOver && !writeFrame(socket, type, chunk)) stream.pause();
    });
    socket.on("drain", () => stream.resume());
  }
  child.stdin.on("error", () => undefined);
  child.once("close", (code, signal) => finish({ code, signal }));
  child.once("exit", (code, signal) => {
    let [heard, looks] = [-1, 0];
    /** Over when nothing came between two looks, with a turn of the loop for what is there already: this process may have been asleep.
     *  A reader who is slow is waited for. */
    const look = () => {
      if (isOver || socket.destroyed) return;
      const isHeldUp = child.stdout.isPaused() || child.stderr.isPaused();
      if (!isHeldUp && (heard === said || looks === MOST_LOOKS)) return finish({ code, signal });
      if (!isHeldUp) looks += 1;
      heard = isHeldUp ? -1 : said;
      setTimeout(() => setImmediate(look), LAST_WORDS_MS);
    };
    look();
  });
  socket.once("close", () => {
    if (!isOver) killGroup(child);
  });
  return (frame) => {
    if (frame.type === CONTROL_FRAME.resize) setTerminalSize(ttyFile, frame);
    else feed(child, frame);
  };
}
