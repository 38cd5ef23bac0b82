/** Runs a command in a sandbox for a person and waits for its end. */
import { AppError, type ExecResult, type NewExec, type SandboxId } from "@drover/contract";
import type { ExecCommand, ExecEvent } from "../ports/sandbox-provider.ts";
import { insertAudit } from "../store/audit.ts";
import type { Person } from "./credential.ts";
import type { Deps } from "./deps.ts";
import { toInsidePath } from "./inside-path.ts";
import { loadRunning } from "./load-standing.ts";
import { openText, type BoundedText } from "./bounded-text.ts";

const OUTPUT_LIMIT_BYTES = 1024 * 1024;
const AUDIT_CHARACTERS = 1_000;

function toCommand({ argv, cwd, env, timeout_s }: NewExec): ExecCommand {
  const [program = "", ...args] = argv;
  return {
    argv: [program, ...args],
    timeoutMs: Math.ceil(timeout_s * 1_000),
    ...(cwd === undefined ? {} : { cwd: toInsidePath(cwd) }),
    ...(env === undefined ? {} : { env }),
  };
}

type Exit = Extract<ExecEvent, { readonly type: "exit" }>;

function toResult(exit: Exit, stdout: BoundedText, stderr: BoundedText): ExecResult {
  const [out, err] = [stdout.end(), stderr.end()];
  return {
    exit_code: exit.code,
    ...(exit.signal === null ? {} : { signal: exit.signal }),
    stdout: out.text,
    stderr: err.text,
    stdout_truncated: out.isTruncated,
    stderr_truncated: err.isTruncated,
    stdout_lossy: out.isLossy,
    stderr_lossy: err.isLossy,
    timed_out: exit.isTimedOut,
    oom_killed: exit.isOomKilled,
  };
}

/** Output beyond the limit is read and dropped: a command that nobody listens to would never end. */
async function collect(events: AsyncIterable<ExecEvent>): Promise<ExecResult> {
  const stdout = openText(OUTPUT_LIMIT_BYTES);
  const stderr = openText(OUTPUT_LIMIT_BYTES);
  for await (const event of events) {
    if (event.type === "exit") return toResult(event, stdout, stderr);
    (event.type === "stdout" ? stdout : stderr).write(event.chunk);
  }
  throw new AppError("sandbox.unavailable", "the command's end was not told");
}

/** The environment may hold secrets: who ran what is noted, and with which variables is not. */
export async function execCommand(
  deps: Deps,
  actor: Person,
  id: SandboxId,
  input: NewExec,
  signal: AbortSignal,
): Promise<ExecResult> {
  const { row, provider, ref } = await loadRunning(deps, id);
  await insertAudit(deps.db, {
    actor: actor.tokenId,
    action: "sandbox.exec",
    target: id,
    project_id: row.project_id,
    detail: {
      argv: JSON.stringify(input.argv)
        .slice(0, AUDIT_CHARACTERS)
        .replace(/[\ud800-\udbff]$/, ""),
    },
    request_id: null,
  });
  return collect(provider.exec(ref, toCommand(input), signal));
}
