/** Runs the `git` program: as an argument list, with settings of ours only, for a bounded time, with bounded output. */
import { spawn, type ChildProcessWithoutNullStreams } from "node:child_process";
import { AppError } from "@drover/contract";

const LOCAL_LIMIT_MS = 60_000;
const OUTPUT_BYTES = 16 * 1024 * 1024;
const COMPLAINT_CHARACTERS = 4_000;
const TIDY_LIMIT_MS = 5_000;

/** No settings of the machine or of a person, nobody to ask for a password, no transport that runs programs (`ext::`). */
const ENV = {
  PATH: "/usr/local/bin:/usr/bin:/bin",
  HOME: "/nonexistent",
  LC_ALL: "C",
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_ATTR_NOSYSTEM: "1",
  GIT_ALLOW_PROTOCOL: "https:http:ssh:git:file",
  GIT_TERMINAL_PROMPT: "0",
  GIT_SSH_COMMAND: "ssh -o BatchMode=yes -o StrictHostKeyChecking=accept-new",
  GIT_OPTIONAL_LOCKS: "0",
} as const;

/** Nothing of a repository is run: no hooks, watchers, background housekeeping; one of another user is read all the same. */
const SAFE = [
  "core.hooksPath=/dev/null",
  "core.fsmonitor=false",
  "core.attributesFile=/dev/null",
  "safe.directory=*",
  "gc.auto=0",
  "maintenance.auto=false",
  "protocol.file.allow=always",
  "credential.helper=",
  "transfer.hideRefs=refs/drover",
  "advice.detachedHead=false",
].flatMap((setting) => ["-c", setting]);

export interface GitRun {
  readonly args: readonly string[];
  readonly input?: string | Uint8Array;
  /** For this process alone, such as a setting that holds a credential: arguments are seen by everybody on the machine. */
  readonly env?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
  /** Beyond it the process is ended; `isCut` tells. */
  readonly limitBytes?: number;
  /** Exit codes that are an answer. */
  readonly answers?: readonly number[];
}

export interface GitAnswer {
  readonly code: number;
  readonly stdout: Buffer;
  readonly stderr: string;
  readonly isCut: boolean;
}

/** Settings that may be secret travel in the environment of one process, never in its arguments. */
export function toSecretSettings(settings: Readonly<Record<string, string>>): Record<string, string> {
  const entries = Object.entries(settings);
  return Object.fromEntries([
    ["GIT_CONFIG_COUNT", String(entries.length)],
    ...entries.flatMap(([key, value], index) => [
      [`GIT_CONFIG_KEY_${index}`, key],
      [`GIT_CONFIG_VALUE_${index}`, value],
    ]),
  ]) as Record<string, string>;
}

/** Whoever hangs up ends it so that it can take its locks and half-received objects away; if it does not, it is killed. */
export function spawnGit(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  signal?: AbortSignal,
): ChildProcessWithoutNullStreams {
  const child = spawn("git", [...SAFE, ...args], {
    env: { ...ENV, ...env },
    stdio: "pipe",
    ...(signal === undefined ? {} : { signal, killSignal: "SIGTERM" }),
  });
  const kill = () => void setTimeout(() => child.kill("SIGKILL"), TIDY_LIMIT_MS).unref();
  signal?.addEventListener("abort", kill, { once: true });
  child.once("close", () => signal?.removeEventListener("abort", kill));
  return child;
}

const withoutPassword = (text: string) => text.replaceAll(/(\w+:\/\/)[^/@\s]+@/g, "$1***@");

function toReason(stderr: string): string {
  const lines = stderr.split("\n").filter((line) => line.trim() !== "");
  const telling = lines.find((line) => /^(?:fatal|error|remote)/i.test(line)) ?? lines[0] ?? "git failed";
  return withoutPassword(telling).slice(0, 300);
}

/** Rejects with AppError "git.unavailable" unless the exit code is 0 or one of `answers`. */
export async function runGit(run: GitRun, signal: AbortSignal): Promise<GitAnswer> {
  const limitBytes = run.limitBytes ?? OUTPUT_BYTES;
  const timeout = AbortSignal.timeout(run.timeoutMs ?? LOCAL_LIMIT_MS);
  const child = spawnGit(run.args, run.env, AbortSignal.any([signal, timeout]));
  const chunks: Buffer[] = [];
  let size = 0;
  let stderr = "";
  child.stdout.on("data", (chunk: Buffer) => {
    const room = limitBytes - size;
    size += chunk.length;
    if (room > 0) chunks.push(chunk.subarray(0, room));
    if (size > limitBytes) child.kill("SIGKILL");
  });
  child.stderr.on("data", (chunk: Buffer) => {
    stderr = (stderr + chunk.toString("utf8")).slice(-COMPLAINT_CHARACTERS);
  });
  // A process that has its answer may end before it has read everything.
  child.stdin.on("error", () => undefined);
  child.stdin.end(run.input ?? "");
  const code = await new Promise<number>((resolve, reject) => {
    child.once("error", (cause) => {
      const why = timeout.aborted ? "git took too long" : signal.aborted ? "given up" : `git: ${cause.message}`;
      reject(new AppError("git.unavailable", why, { cause }));
    });
    child.once("close", (exit) => resolve(exit ?? -1));
  });
  const isCut = size > limitBytes;
  if (code !== 0 && !isCut && run.answers?.includes(code) !== true)
    throw new AppError("git.unavailable", toReason(stderr));
  return { code, stdout: Buffer.concat(chunks), stderr, isCut };
}
