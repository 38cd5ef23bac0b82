/** Runs git on a repository of the worker's own: no configuration of the machine or the user, no hooks, no prompts, no code of the workspace. */
import { spawn } from "node:child_process";
import { devNull } from "node:os";

export interface GitCall {
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly input?: Buffer;
}

/** Contract: rejects when git ends with another code than 0, is not there, prints more than `limitBytes` or takes too long. */
export type Git = (call: GitCall) => Promise<Buffer>;

const TIMEOUT_MS = 120_000;
const OUTPUT_LIMIT_BYTES = 256 * 1024 * 1024;
/** Settings of whoever owns the repository do not count: what they could start would run for the worker. */
const FIXED = {
  GIT_CONFIG_NOSYSTEM: "1",
  GIT_CONFIG_GLOBAL: devNull,
  GIT_TERMINAL_PROMPT: "0",
  GIT_OPTIONAL_LOCKS: "0",
  GIT_NO_LAZY_FETCH: "1",
  GIT_ATTR_NOSYSTEM: "1",
  LC_ALL: "C",
};

class GitFailure extends Error {}

export const createGit =
  (path: string | undefined, limitBytes = OUTPUT_LIMIT_BYTES): Git =>
  ({ args, env = {}, cwd, input }) =>
    new Promise((resolve, reject) => {
      const child = spawn("git", ["-c", "core.fsmonitor=false", "-c", `core.hooksPath=${devNull}`, ...args], {
        cwd,
        env: { ...(path === undefined ? {} : { PATH: path }), ...FIXED, ...env },
        stdio: ["pipe", "pipe", "pipe"],
        timeout: TIMEOUT_MS,
        killSignal: "SIGKILL",
      });
      const chunks: Buffer[] = [];
      let bytes = 0;
      let said = "";
      const fail = (why: string) => reject(new GitFailure(`git ${args[0] ?? ""}: ${why}`));
      child.once("error", (error) => fail(error.message));
      child.stdin.on("error", () => {}); // it ended before it had read everything: its code says why
      child.stdout.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes > limitBytes) child.kill("SIGKILL");
        else chunks.push(chunk);
      });
      child.stderr.on("data", (chunk: Buffer) => (said = (said + chunk.toString("utf8")).slice(-2_000)));
      child.once("close", (code, signal) => {
        if (code === 0 && bytes <= limitBytes) resolve(Buffer.concat(chunks));
        else fail(bytes > limitBytes ? "its answer is too large" : said.trim() || `ended with ${code ?? signal}`);
      });
      child.stdin.end(input);
    });
