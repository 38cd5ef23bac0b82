/** A command in a container: its output as it comes, its end exactly once, and its whole process group ended when nobody wants it. */
import { randomBytes } from "node:crypto";
import { AppError } from "@drover/contract";
import type Docker from "dockerode";
import type { ExecCommand, ExecEvent } from "../../ports/sandbox-provider.ts";
import { toAppError, type Connection } from "./connection.ts";
import { endSession, readFrames, startExec, waitForStatus, type StartedExec } from "./exec-stream.ts";
import { readScriptOutput, toExit, type Exit } from "./script-output.ts";
import { RUN } from "./scripts.ts";

export const WORKSPACE = "/workspace";
const PID_LIMIT_MS = 5_000;

/** Ends the command's processes at most once, and then the stream, which something outside the group may keep open. */
class Killer {
  readonly #container: Docker.Container;
  readonly #started: StartedExec;
  readonly #pid = Promise.withResolvers<number | null>();
  #done: Promise<void> | undefined;

  constructor(container: Docker.Container, started: StartedExec) {
    this.#container = container;
    this.#started = started;
  }

  knowPid(pid: number): void {
    this.#pid.resolve(pid);
  }

  get isAsked(): boolean {
    return this.#done !== undefined;
  }

  kill(): Promise<void> {
    this.#done ??= this.#kill();
    return this.#done;
  }

  async #kill(): Promise<void> {
    const timer = setTimeout(() => this.#pid.resolve(null), PID_LIMIT_MS);
    const pid = await this.#pid.promise;
    clearTimeout(timer);
    await endSession(this.#container, pid, this.#started);
  }
}

export async function* runCommand(
  connection: Connection,
  container: Docker.Container,
  command: ExecCommand,
  signal: AbortSignal,
): AsyncGenerator<ExecEvent> {
  const mark = randomBytes(16).toString("hex");
  const input = command.stdin === undefined ? "none" : "given";
  const argv = ["sh", "-c", RUN, "sh", mark, input, command.cwd ?? WORKSPACE, ...command.argv];
  const start = { argv, env: command.env ?? {}, isTerminal: false };
  const started = await startExec(connection, container, start, signal);
  const killer = new Killer(container, started);
  let isTimedOut = false;
  let isOver = false;
  let exit: Exit | undefined;
  let status: number | null | undefined;
  const onAbort = () => void killer.kill();
  const onTimeout = () => {
    isTimedOut = true;
    void killer.kill();
  };
  const timer = command.timeoutMs === undefined ? undefined : setTimeout(onTimeout, command.timeoutMs);
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    if (command.stdin !== undefined) started.stream.end(command.stdin);
    exit = yield* readScriptOutput(readFrames(started.stream), mark, (pid) => killer.knowPid(pid));
    isOver = true;
    // Not told by the script: it was ended with its group, or with its container, or the engine is gone.
    if (exit === undefined && !killer.isAsked) status = await waitForStatus(started.exec);
  } catch (error) {
    // Expected when it was killed: its stream was cut.
    isOver = killer.isAsked;
    if (!isOver) throw toAppError(error, connection);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
    if (!isOver) await killer.kill();
    started.stream.destroy();
  }
  // The script ends with 0 when it has told everything.
  if (exit === undefined && status === 0)
    throw new AppError("sandbox.unavailable", "the engine threw away the end of what a command said");
  yield exit ?? { ...toExit(status ?? null), isTimedOut };
}

export interface Outcome {
  readonly stdout: Buffer;
  readonly stderr: Buffer;
  readonly exit: Exit;
}

/** Runs one of our scripts to its end. */
export async function runScript(
  connection: Connection,
  container: Docker.Container,
  script: { readonly text: string; readonly args: readonly string[]; readonly stdin?: Uint8Array },
  signal: AbortSignal,
): Promise<Outcome> {
  const { text, args, stdin } = script;
  const command = {
    argv: ["sh", "-c", text, "sh", ...args] as const,
    cwd: "/",
    ...(stdin === undefined ? {} : { stdin }),
  };
  const chunks: Record<"stdout" | "stderr", Uint8Array[]> = { stdout: [], stderr: [] };
  for await (const event of runCommand(connection, container, command, signal)) {
    if (event.type !== "exit") chunks[event.type].push(event.chunk);
    else if (signal.aborted) break;
    else return { stdout: Buffer.concat(chunks.stdout), stderr: Buffer.concat(chunks.stderr), exit: event };
  }
  throw toAppError(new AppError("sandbox.unavailable", "the request was cancelled"), connection, signal);
}
