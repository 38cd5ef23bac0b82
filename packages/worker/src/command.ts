/** Runs a program and streams what it prints. Its whole process group ends with the signal. */
import { spawn } from "node:child_process";
import { StringDecoder } from "node:string_decoder";
import { createBell } from "./bell.ts";

export interface CommandSpec {
  readonly argv: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
}

export interface CommandChunk {
  readonly stream: "stdout" | "stderr";
  readonly text: string;
  /** Bytes of this stream before the chunk. */
  readonly offset: number;
}

export interface CommandExit {
  readonly code: number | null;
  readonly signal: string | null;
  /** The program could not be started. */
  readonly error?: string;
}

const CHUNK_CHARACTERS = 16_384;
/** Output that may wait to be taken before the program is made to wait. */
const BUFFER_CHARACTERS = 262_144;
const KILL_AFTER_MS = 2_000;

/** Never throws: what could not be started is an exit with an error. */
export async function* runCommand(spec: CommandSpec, signal: AbortSignal): AsyncGenerator<CommandChunk, CommandExit> {
  const [program = "", ...args] = spec.argv;
  const bell = createBell();
  const queue: { stream: "stdout" | "stderr"; text: string }[] = [];
  const offsets = { stdout: 0, stderr: 0 };
  let waiting = 0;
  let exit: CommandExit | undefined;

  const child = spawn(program, args, {
    cwd: spec.cwd,
    env: spec.env,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const finish = (end: CommandExit) => {
    exit ??= end;
    bell.ring();
  };
  child.once("error", (error) => finish({ code: null, signal: null, error: error.message }));
  child.once("close", (code, name) => finish({ code, signal: name }));
  for (const stream of ["stdout", "stderr"] as const) {
    const decoder = new StringDecoder("utf8");
    const push = (text: string) => {
      if (text === "") return;
      queue.push({ stream, text });
      waiting += text.length;
      if (waiting > BUFFER_CHARACTERS) child[stream].pause();
      bell.ring();
    };
    child[stream].on("data", (bytes: Buffer) => push(decoder.write(bytes)));
    child[stream].once("end", () => push(decoder.end()));
  }

  const kill = (name: "SIGTERM" | "SIGKILL") => {
    try {
      if (child.pid !== undefined && exit === undefined) process.kill(-child.pid, name);
    } catch {
      // Expected: the group is gone already.
    }
  };
  let killer: NodeJS.Timeout | undefined;
  const stop = () => {
    kill("SIGTERM");
    killer = setTimeout(() => kill("SIGKILL"), KILL_AFTER_MS);
  };
  if (signal.aborted) stop();
  else signal.addEventListener("abort", stop, { once: true });

  /** What one stream printed in a row, as one chunk. */
  const take = (): CommandChunk | undefined => {
    const first = queue.shift();
    if (first === undefined) return undefined;
    let text = first.text;
    while (queue[0]?.stream === first.stream && text.length < CHUNK_CHARACTERS) text += queue.shift()?.text ?? "";
    waiting -= text.length;
    const offset = offsets[first.stream];
    offsets[first.stream] += Buffer.byteLength(text);
    if (waiting <= BUFFER_CHARACTERS) for (const stream of [child.stdout, child.stderr]) stream.resume();
    return { stream: first.stream, text, offset };
  };

  try {
    for (;;) {
      const chunk = take();
      if (chunk !== undefined) yield chunk;
      else if (exit === undefined) await bell.wait();
      else return exit;
    }
  } finally {
    clearTimeout(killer);
    signal.removeEventListener("abort", stop);
    kill("SIGKILL");
  }
}
