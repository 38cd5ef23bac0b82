/** One command of an engine as a stream: started, read frame by frame, ended through the keeper. */
import type { Duplex } from "node:stream";
import { AppError } from "@drover/contract";
import type Docker from "dockerode";
import { statusOf, toAppError, type Connection } from "./connection.ts";
import { END_SESSION } from "./scripts.ts";

const HEADER_BYTES = 8;
/** The kernel's, of one argument or variable. */
const WORD_LIMIT_BYTES = 128 * 1024;
const ENDED_LIMIT_MS = 5_000;
const KEEPER_LIMIT_MS = 500;
const LOOK_EVERY_MS = 25;

export interface ExecStart {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly isTerminal: boolean;
}

export interface StartedExec {
  readonly exec: Docker.Exec;
  readonly stream: Duplex;
}

export const toEnv = (env: Readonly<Record<string, string>>): string[] =>
  Object.entries(env).map(([name, value]) => `${name}=${value}`);

const toExecOptions = (start: ExecStart, isDetached: boolean): Docker.ExecCreateOptions => ({
  Cmd: [...start.argv],
  Env: toEnv(start.env),
  // Always there; the scripts go where the command shall run and can say when they cannot.
  WorkingDir: "/",
  Tty: start.isTerminal,
  AttachStdin: !isDetached,
  AttachStdout: !isDetached,
  AttachStderr: !isDetached,
});

/** What the kernel does not take, engines refuse late and in words of their own, if at all. */
function requireWords({ argv, env }: ExecStart): void {
  for (const word of [...argv, ...toEnv(env)]) {
    if (word.includes("\0")) throw new AppError("sandbox.rejected", "no word of a command can hold a zero byte");
    if (Buffer.byteLength(word) >= WORD_LIMIT_BYTES)
      throw new AppError("sandbox.rejected", `no word of a command can have ${WORD_LIMIT_BYTES} bytes`);
  }
}

export async function startExec(
  connection: Connection,
  container: Docker.Container,
  start: ExecStart,
  signal: AbortSignal,
): Promise<StartedExec> {
  signal.throwIfAborted();
  requireWords(start);
  try {
    const exec = await container.exec({ ...toExecOptions(start, false), abortSignal: signal });
    // Not with the signal: it would cut the stream before the command is ended.
    const stream = await exec.start({ hijack: true, stdin: true, Tty: start.isTerminal });
    // Whoever reads is told; an error between two reads must not end the process.
    stream.on("error", () => undefined);
    return { exec, stream };
  } catch (error) {
    throw toAppError(error, connection, signal);
  }
}

/** The answer is empty, and read all the same: its connection would stay open, and the process with it. */
async function startAlone(exec: Docker.Exec): Promise<void> {
  (await exec.start({ Detach: true })).resume();
}

export async function startDetachedExec(
  connection: Connection,
  container: Docker.Container,
  start: ExecStart,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  requireWords(start);
  try {
    const exec = await container.exec({ ...toExecOptions(start, true), abortSignal: signal });
    await startAlone(exec);
  } catch (error) {
    throw toAppError(error, connection, signal);
  }
}

export interface StreamFrame {
  readonly type: "stdout" | "stderr";
  readonly chunk: Buffer;
}

/** The engine's frames: one byte of kind, three zeroes, four of length. A start that failed is told in plain text instead. */
export async function* readFrames(stream: Duplex): AsyncGenerator<StreamFrame> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const bytes of stream as AsyncIterable<Buffer>) {
    rest = rest.length === 0 ? bytes : Buffer.concat([rest, bytes]);
    while (rest.length >= HEADER_BYTES) {
      const kind = rest[0] ?? 0;
      if (kind > 2 || rest.readUIntBE(1, 3) !== 0) throw new AppError("sandbox.unavailable", rest.toString().trim());
      const end = HEADER_BYTES + rest.readUInt32BE(4);
      if (rest.length < end) break;
      yield { type: kind === 2 ? "stderr" : "stdout", chunk: rest.subarray(HEADER_BYTES, end) };
      rest = rest.subarray(end);
    }
  }
}

/** The status of a command that has ended; null when its container is gone with it, undefined when it does not end in time. */
export async function waitForStatus(exec: Docker.Exec, limitMs = ENDED_LIMIT_MS): Promise<number | null | undefined> {
  const deadline = performance.now() + limitMs;
  do {
    const state = await exec.inspect().catch((error: unknown) => {
      // Expected: the container was removed, and its commands with it.
      if (statusOf(error) !== 404) throw error;
    });
    if (state === undefined) return null;
    if (!state.Running) return state.ExitCode;
    await new Promise<void>((resolve) => void setTimeout(resolve, LOOK_EVERY_MS));
  } while (performance.now() < deadline);
  return undefined;
}

/** By the stdin of the container's first process. */
async function askKeeper(container: Docker.Container, pid: number): Promise<void> {
  const stdin = await container.attach({ stream: true, stdin: true, hijack: true });
  stdin.on("error", () => undefined);
  await new Promise<void>((resolve) => {
    stdin.once("close", resolve);
    stdin.end(`${pid}\n`, () => resolve());
  });
  (stdin as Duplex).destroy();
}

async function killFromInside(container: Docker.Container, pid: number): Promise<void> {
  const exec = await container.exec({ Cmd: ["sh", "-c", END_SESSION, "sh", String(pid)], WorkingDir: "/" });
  await startAlone(exec);
}

async function endProcesses(container: Docker.Container, pid: number, exec: Docker.Exec): Promise<void> {
  await askKeeper(container, pid);
  const deadline = performance.now() + ENDED_LIMIT_MS;
  while ((await waitForStatus(exec, KEEPER_LIMIT_MS)) === undefined && performance.now() < deadline) {
    // Podman closes a container's stdin after the first who wrote to it. May fail too while no process can be started.
    await killFromInside(container, pid).catch(() => undefined);
  }
}

/** Ends the session of a command, as far as it is still there, and its stream, which something outside may keep open. */
export async function endSession(container: Docker.Container, pid: number | null, started: StartedExec): Promise<void> {
  try {
    if (pid !== null) await endProcesses(container, pid, started.exec);
  } catch {
    // Expected: the container is gone, or its engine. There is nothing left that could be ended from here.
  } finally {
    started.stream.destroy();
  }
}
