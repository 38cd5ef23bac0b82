/** One command in a session of its own: live streams that survive a broken connection, its end, and its end on demand. */
import { randomUUID } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { AppError } from "@drover/contract";
import type { Sandbox } from "@daytona/sdk";
import type { ExecCommand, ExecEvent } from "../../ports/sandbox-provider.ts";
import type { Client } from "./client.ts";
import { createEventQueue } from "./event-queue.ts";
import { toAppError } from "./failure.ts";
import { toExecScript } from "./in-sandbox.ts";
import { readToldLines, type End } from "./told-lines.ts";

/** How often the log of an ended command is read for its last line. */
const AFTER_END_LIMIT = 3;
/** Questions in a row that fail before the sandbox counts as silent. */
const FAILURE_LIMIT = 5;
/** Between connections that bring nothing, longer each time. */
const PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 5_000;
/** A time limit is kept inside the sandbox. When even that one is silent, the session is ended from here. */
const TIMEOUT_GRACE_MS = 15_000;

interface Running {
  readonly client: Client;
  readonly sandbox: Sandbox;
  readonly session: string;
  readonly commandId: string;
  readonly emit: (event: ExecEvent) => void;
}

/** Whether the command still runs. Expected: a question that fails now and then; a session that is gone is final. */
function createAsk({ client, sandbox, session, commandId }: Running): () => Promise<"runs" | "ended" | "unknown"> {
  let failures = 0;
  return async () => {
    try {
      const { exitCode } = await sandbox.process.getSessionCommand(session, commandId);
      failures = 0;
      return exitCode === undefined ? "runs" : "ended";
    } catch (error) {
      failures += 1;
      if (error instanceof client.sdk.DaytonaNotFoundError || failures === FAILURE_LIMIT)
        throw toAppError(client.sdk, error, "lifecycle");
      return "unknown";
    }
  };
}

/**
 * Follows the log until its last line. A closed connection proves nothing, since the SDK ends in the same way when it is cut: the log
 * is read again while the command runs, and a few times more when it has ended without a last line.
 */
async function followCommand(running: Running, signal: AbortSignal): Promise<End> {
  const { sandbox, session, commandId, emit } = running;
  const lines = readToldLines((type, chunk) => emit({ type, chunk }));
  const ask = createAsk(running);
  let complaint = "";
  let tries = 0;
  for (let silent = 0; tries < AFTER_END_LIMIT; silent += 1) {
    const before = lines.count;
    lines.restart();
    complaint = "";
    // Expected: a connection that was refused or cut.
    await sandbox.process
      .getSessionCommandLogs(session, commandId, lines.read, (text) => (complaint += text))
      .catch(() => undefined);
    if (lines.end !== undefined) return lines.end;
    if (lines.count > before) silent = 0;
    if ((await ask()) === "ended") tries += 1;
    await setTimeout(Math.min(silent * PAUSE_MS, LONGEST_PAUSE_MS), undefined, { signal });
  }
  throw new AppError("sandbox.unavailable", `Daytona: the output of a command broke off. ${complaint}`.trim());
}

/** Resolves when the time has passed or the signal aborts; `dispose` forgets both. */
function startWatch(timeoutMs: number | undefined, signal: AbortSignal) {
  const { promise, resolve } = Promise.withResolvers<"timeout" | "abort">();
  const timer = timeoutMs === undefined ? undefined : globalThis.setTimeout(() => resolve("timeout"), timeoutMs);
  const onAbort = () => resolve("abort");
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  const forget = () => {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  };
  return { rang: promise, [Symbol.dispose]: forget };
}

/** Deleting a session ends its command; also when nobody listens any more, so not by the caller's signal. */
const endSession = (sandbox: Sandbox, session: string) =>
  // Expected: the session or the whole sandbox is gone already.
  sandbox.process.deleteSession(session).catch(() => undefined);

async function awaitEnd(running: Running, timeoutMs: number | undefined, signal: AbortSignal): Promise<End> {
  const leave = new AbortController();
  using watch = startWatch(timeoutMs === undefined ? undefined : timeoutMs + TIMEOUT_GRACE_MS, signal);
  const following = followCommand(running, leave.signal);
  const ended = await Promise.race([following, watch.rang]);
  if (typeof ended !== "string") return ended;
  leave.abort();
  following.catch(() => undefined);
  await endSession(running.sandbox, running.session);
  return { code: null, signal: "SIGKILL", isTimedOut: ended === "timeout" };
}

/** The name of a file in the sandbox with the command's input. A session could carry it only inside its text. */
async function uploadInput(sandbox: Sandbox, stdin: Uint8Array | undefined): Promise<string | undefined> {
  if (stdin === undefined || stdin.length === 0) return undefined;
  const path = `/tmp/.stdin-${randomUUID()}`;
  await sandbox.fs.uploadFile(Buffer.from(stdin), path);
  return path;
}

/** Starts a command in a session of its own, by whose id it is found again. */
export async function startInSession(
  sandbox: Sandbox,
  session: string,
  stdin: Uint8Array | undefined,
  toScript: (input: string | undefined) => string,
): Promise<string> {
  const command = toScript(await uploadInput(sandbox, stdin));
  await sandbox.process.createSession(session);
  const { cmdId } = await sandbox.process.executeSessionCommand(session, { command, runAsync: true });
  return cmdId;
}

export async function* runCommand(
  client: Client,
  sandbox: Sandbox,
  command: ExecCommand,
  signal: AbortSignal,
): AsyncGenerator<ExecEvent> {
  const session = `exec-${randomUUID()}`;
  try {
    const commandId = await client.call("input", signal, () =>
      startInSession(sandbox, session, command.stdin, (input) => toExecScript(command, input)),
    );
    const queue = createEventQueue<ExecEvent>();
    const running = { client, sandbox, session, commandId, emit: queue.push };
    awaitEnd(running, command.timeoutMs, signal).then(
      (end) => {
        queue.push({ type: "exit", ...end, isOomKilled: false });
        queue.end();
      },
      (error: unknown) => queue.end(toAppError(client.sdk, error, "lifecycle")),
    );
    yield* queue;
  } finally {
    await endSession(sandbox, session);
  }
}
