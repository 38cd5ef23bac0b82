/** What `scripts.RUN` says, told apart from what the command says. */
import { constants } from "node:os";
import { AppError } from "@drover/contract";
import type { ExecEvent } from "../../ports/sandbox-provider.ts";
import type { StreamFrame } from "./exec-stream.ts";
import { MarkedOutput } from "./marked-output.ts";

export type Exit = Extract<ExecEvent, { type: "exit" }>;

const SIGNALS = new Map(Object.entries(constants.signals).map(([name, number]) => [number, name]));

/** Shells and engines tell a signal as 128 + its number; nothing tells it from a code of that value. */
export function toEnd(status: number | null): { readonly code: number | null; readonly signal: string | null } {
  if (status === null) return { code: null, signal: "SIGKILL" };
  const signal = status > 128 ? SIGNALS.get(status - 128) : undefined;
  return signal === undefined ? { code: status, signal: null } : { code: null, signal };
}

export const toExit = (status: number | null): Exit => ({
  type: "exit",
  ...toEnd(status),
  isTimedOut: false,
  isOomKilled: false,
});

/** ` status before after\n`, as the script wrote it behind its mark. */
function parseTrailer(after: Buffer): Exit | undefined {
  const [, status, before, killed] = /^ (\d+) (\d+) (\d+)\n/.exec(after.toString("latin1")) ?? [];
  if (status === undefined) return undefined;
  return { ...toExit(Number(status)), isOomKilled: Number(killed) > Number(before) };
}

/** The first line of stdout. What else has come by then, stderr may be faster, is left for the reader of the output. */
async function readPid(frames: AsyncIterator<StreamFrame>): Promise<{ pid: number; early: readonly StreamFrame[] }> {
  const early: StreamFrame[] = [];
  let head: Buffer = Buffer.alloc(0);
  for (let next = await frames.next(); next.done !== true; next = await frames.next()) {
    if (next.value.type === "stderr") early.push(next.value);
    else head = Buffer.concat([head, next.value.chunk]);
    const end = head.indexOf("\n");
    if (end < 0) continue;
    early.push({ type: "stdout", chunk: head.subarray(end + 1) });
    return { pid: Number(head.subarray(0, end).toString()), early };
  }
  const said = Buffer.concat([head, ...early.map(({ chunk }) => chunk)]).toString();
  throw new AppError("sandbox.unavailable", `the command did not start: ${said.trim() || "no reason given"}`);
}

/** Yields the output and returns the exit that the script told, or undefined when the stream ended without. */
export async function* readScriptOutput(
  frames: AsyncGenerator<StreamFrame>,
  mark: string,
  onPid: (pid: number) => void,
): AsyncGenerator<ExecEvent, Exit | undefined> {
  const outputs = { stdout: new MarkedOutput(mark), stderr: new MarkedOutput(mark) };
  const ended = { stdout: false, stderr: false };
  let exit: Exit | undefined;
  const pass = function* ({ type, chunk }: StreamFrame): Generator<ExecEvent> {
    const { own, after } = outputs[type].pass(chunk);
    if (own.length > 0) yield { type, chunk: own };
    if (after === null) return;
    if (type === "stdout") exit = parseTrailer(after);
    ended[type] = type === "stderr" || exit !== undefined;
  };
  const { pid, early } = await readPid(frames);
  onPid(pid);
  for (const frame of early) yield* pass(frame);
  if (!(ended.stdout && ended.stderr)) {
    for await (const frame of frames) {
      yield* pass(frame);
      if (ended.stdout && ended.stderr) return exit;
    }
  }
  for (const type of ["stdout", "stderr"] as const) {
    const chunk = outputs[type].rest();
    if (chunk.length > 0) yield { type, chunk };
  }
  return exit;
}
