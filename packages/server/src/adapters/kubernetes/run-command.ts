/** A command in a pod: live streams, its end, and its end on demand. */
import { randomBytes } from "node:crypto";
import { AppError } from "@drover/contract";
import { z } from "zod";
import type { ExecCommand, ExecEvent } from "../../ports/sandbox-provider.ts";
import { createEventQueue } from "../daytona/event-queue.ts";
import { MarkedOutput } from "../docker/marked-output.ts";
import type { Client } from "./client.ts";
import { openChannel } from "./exec-channel.ts";
import { COMMAND, DETACH, RUN, toDetachOrder, toInput } from "./inside.ts";
import { WORKSPACE } from "./pod.ts";
import { runInside } from "./run-inside.ts";

const End = z.object({
  code: z.number().nullable(),
  signal: z.string().nullable(),
  isTimedOut: z.boolean(),
  isOomKilled: z.boolean(),
});
type End = z.infer<typeof End>;

/** With how many bytes there are on stdout. */
const Told = End.extend({ said: z.int() });

/** A time limit is kept inside. When even that one is silent, the connection is ended from here. */
const TIMEOUT_GRACE_MS = 15_000;
const KILLED = { code: null, signal: "SIGKILL", isTimedOut: false, isOomKilled: false } as const;
const ANSWER_BYTES = 1_000;
/** Beyond this the reader is slower than the command, and the connection is not read until it has caught up. */
const UNREAD_LIMIT_BYTES = 1024 * 1024;

function toOrder({ argv, cwd = WORKSPACE, env = {}, timeoutMs }: ExecCommand) {
  const words = [...argv, cwd, ...Object.entries(env).flat()];
  if (words.some((word) => word.includes("\0")))
    throw new AppError("sandbox.rejected", "An argument holds a zero byte");
  if (Object.keys(env).some((name) => name === "" || name.includes("=")))
    throw new AppError("sandbox.rejected", "The name of a variable may not be empty or hold an equals sign");
  return { argv, cwd, env, timeoutMs };
}

export async function startDetached(client: Client, pod: string, command: ExecCommand, signal: AbortSignal) {
  const order = toDetachOrder({ ...toOrder(command), id: randomBytes(8).toString("hex") });
  const payload = command.stdin ?? new Uint8Array();
  await runInside(client, pod, { program: DETACH, order, payload }, ANSWER_BYTES, signal);
}

/** Resolves when the time has passed or the signal aborts. */
function startWatch(timeoutMs: number | undefined, signal: AbortSignal) {
  const { promise, resolve } = Promise.withResolvers<"timeout" | "abort">();
  const timer =
    timeoutMs === undefined ? undefined : setTimeout(() => resolve("timeout"), timeoutMs + TIMEOUT_GRACE_MS);
  const onAbort = () => resolve("abort");
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  const forget = () => {
    clearTimeout(timer);
    signal.removeEventListener("abort", onAbort);
  };
  return { rang: promise, [Symbol.dispose]: forget };
}

export async function* runCommand(
  client: Client,
  pod: string,
  command: ExecCommand,
  signal: AbortSignal,
): AsyncGenerator<ExecEvent> {
  const order = toOrder(command);
  const mark = randomBytes(16).toString("hex");
  const stderr = new MarkedOutput(mark);
  const queue = createEventQueue<ExecEvent>();
  let told: Buffer | null = null;
  let [heard, unread] = [0, 0];
  const onOutput = (stream: "stdout" | "stderr", chunk: Buffer) => {
    if (stream === "stdout") heard += chunk.length;
    const passed = stream === "stderr" ? stderr.pass(chunk) : { own: chunk, after: told };
    told = passed.after;
    if (passed.own.length === 0) return;
    queue.push({ type: stream, chunk: passed.own });
    unread += passed.own.length;
    if (unread > UNREAD_LIMIT_BYTES) channel.pause();
  };
  const channel = await openChannel(client, { pod, command: COMMAND, onOutput }, signal);
  const awaitEnd = async (): Promise<End> => {
    using watch = startWatch(command.timeoutMs, signal);
    const ended = await Promise.race([channel.ended, watch.rang]);
    if (typeof ended === "string") return { ...KILLED, isTimedOut: ended === "timeout" };
    if (told !== null) {
      const { said, ...end } = Told.parse(JSON.parse(told.toString()));
      if (heard === said) return end;
      throw new AppError("sandbox.unavailable", `Kubernetes: of ${said} bytes that a command said ${heard} came`);
    }
    throw new AppError(
      "sandbox.unavailable",
      ended === 126 || ended === 127
        ? "Kubernetes: the image has no Node, which every command needs"
        : "Kubernetes: a command was ended from outside",
    );
  };
  channel.write(toInput(RUN, { ...order, mark }, command.stdin));
  awaitEnd().then(
    (end) => {
      const rest = stderr.rest();
      if (rest.length > 0) queue.push({ type: "stderr", chunk: rest });
      queue.push({ type: "exit", ...end });
      queue.end();
    },
    (error: unknown) => queue.end(error instanceof Error ? error : new Error(String(error))),
  );
  try {
    for await (const event of queue) {
      yield event;
      if (event.type === "exit") continue;
      unread -= event.chunk.length;
      if (unread <= UNREAD_LIMIT_BYTES) channel.resume();
    }
  } finally {
    // The program inside sees the end of its stdin and kills the whole group.
    channel.close();
  }
}
