/** drover exec: runs a command in a sandbox. */
import { constants } from "node:os";
import type { ExecResult } from "@drover/contract";
import { takePositionals } from "../arguments.ts";
import { awaitStanding } from "../await-standing.ts";
import { connect } from "../connection.ts";
import { UsageError } from "../exit-code.ts";
import { parseAssignments } from "../assignments.ts";
import type { Verb } from "../verb.ts";

/** As `timeout` and shells have it. */
const TIMED_OUT = 124;
const SIGNALLED = 128;

function toCode(result: ExecResult): number {
  if (result.timed_out) return TIMED_OUT;
  if (result.exit_code !== null) return result.exit_code;
  return SIGNALLED + ((constants.signals as Readonly<Record<string, number>>)[result.signal ?? ""] ?? 0);
}

function* toRemarks(result: ExecResult, seconds: number): Generator<string> {
  if (result.timed_out) yield `The command was killed after ${seconds} s; --timeout gives it longer.`;
  else if (result.oom_killed) yield "A process of the command was killed: the sandbox is out of memory.";
  for (const name of ["stdout", "stderr"] as const) {
    if (result[`${name}_truncated`]) yield `Only the beginning of ${name} is shown.`;
    if (result[`${name}_lossy`]) yield `${name} is not UTF-8; some of it could not be shown.`;
  }
}

export const exec: Verb = {
  name: "exec",
  summary: "Run a command in a sandbox.",
  usage: "<id> -- <command> [arguments...]",
  isRemote: true,
  flags: [
    { name: "cwd", value: "path", doc: "Directory to run in (/workspace)." },
    { name: "env", short: "e", value: "name=value", many: true, doc: "A variable of the command; may be repeated." },
    { name: "timeout", value: "seconds", doc: "Kill it after this long (60)." },
  ],
  details:
    "The exit code is the command's; 124 when it took too long, 128 and more when a signal ended it. Its output is shown when it has ended. A sandbox that is being made is waited for.",
  async run(context, args) {
    const [sandbox_id = "", ...argv] = takePositionals(exec, args, 2, 1_000);
    const timeout_s = Number(args.get("timeout") ?? 60);
    if (!(timeout_s > 0)) throw new UsageError("--timeout takes a number of seconds", exec.name);
    const cwd = args.get("cwd");
    const body = {
      argv,
      timeout_s,
      env: parseAssignments(exec, args, "env"),
      ...(cwd === undefined ? {} : { cwd }),
    };
    const client = connect(context, args);
    await awaitStanding(context, client, sandbox_id);
    const result = await client.execCommand({ params: { sandbox_id }, body }, { signal: context.signal });
    if (args.has("json")) context.print(JSON.stringify(result));
    else {
      context.write("out", result.stdout);
      context.write("err", result.stderr);
      for (const remark of toRemarks(result, timeout_s)) context.warn(`drover: ${remark}`);
    }
    return toCode(result);
  },
};
