/** What is true of a container now: what the kernel really enforces, counts and has killed, and which detached processes have ended. */
import type Docker from "dockerode";
import type { SandboxInfo, SandboxLimits } from "../../ports/sandbox-provider.ts";
import type { Connection } from "./connection.ts";
import { parseLimits } from "./container.ts";
import { runScript } from "./run-command.ts";
import { toEnd } from "./script-output.ts";
import { REPORT } from "./scripts.ts";

export interface Report {
  readonly facts: ReadonlyMap<string, string>;
  readonly ended: SandboxInfo["ended"];
}

export const NO_REPORT: Report = { facts: new Map(), ended: [] };

/** A note is the status, the number of words and the words of the command, each ended by a zero byte. One that is still being written
 *  is left out. */
function parseNotes(text: string): SandboxInfo["ended"] {
  const words = text.split("\0").slice(0, -1);
  const ended: SandboxInfo["ended"][number][] = [];
  for (let at = 0; at + 2 <= words.length; at += 2 + Number(words[at + 1])) {
    const argv = words.slice(at + 2, at + 2 + Number(words[at + 1]));
    if (argv.length === Number(words[at + 1])) ended.push({ argv, ...toEnd(Number(words[at])) });
  }
  return ended;
}

export async function loadReport(
  connection: Connection,
  container: Docker.Container,
  signal: AbortSignal,
): Promise<Report> {
  const { stdout } = await runScript(connection, container, { text: REPORT, args: [] }, signal);
  const text = stdout.toString();
  const border = text.indexOf("\n\n");
  const lines = text
    .slice(0, border)
    .split("\n")
    .map((line) => /^(\S+) (.*)$/.exec(line));
  const facts = new Map(lines.flatMap((line) => (line === null ? [] : [[line[1] ?? "", line[2] ?? ""] as const])));
  return { facts, ended: parseNotes(text.slice(border + 2)) };
}

/** NaN for what was not told, and for `max`. */
const numberOf = (report: Report, name: string): number => Number(report.facts.get(name) ?? Number.NaN);

/** cgroup 2 tells `quota period` in one file, cgroup 1 in two. */
function cpusOf(report: Report): number {
  const [quota, period] = report.facts.get("cpu_limit")?.split(" ") ?? [];
  if (quota !== undefined) return Number(quota) / Number(period);
  const old = numberOf(report, "cpu_quota");
  return old > 0 ? old / numberOf(report, "cpu_period") : Number.NaN;
}

/** By what the kernel says inside, not by what was asked for: some engines ignore limits in silence. */
function toEnforcement(report: Report, limits: SandboxLimits, host: Docker.HostConfig): SandboxInfo["enforcedBy"] {
  const isWithin = (found: number, asked: number) => (found <= asked ? "engine" : "none");
  return {
    memory: isWithin(numberOf(report, "memory_limit"), limits.memoryBytes),
    cpu: isWithin(cpusOf(report), limits.cpus + 0.01),
    processes: isWithin(numberOf(report, "process_limit"), limits.processes),
    // Each file by a limit of the kernel; their sum is counted, and who has too much is stopped.
    disk: numberOf(report, "file_limit") <= limits.diskBytes ? "watchdog" : "none",
    network: host.NetworkMode === "none" ? "engine" : "none",
    isolation: "engine",
  };
}

const orNull = (value: number): number | null => (Number.isNaN(value) ? null : value);

function toReason(state: Docker.ContainerInspectInfo["State"]): string | null {
  if (state.Running) return state.Paused ? "it was paused" : null;
  if (state.OOMKilled) return "it was ended for its use of memory";
  return state.Error !== "" && state.Error !== undefined ? state.Error : `it ended with ${state.ExitCode}`;
}

export function toInfo(found: Docker.ContainerInspectInfo, report: Report): SandboxInfo {
  const { State: state, HostConfig: host } = found;
  const limits = parseLimits(found.Config.Labels);
  return {
    state: !state.Running ? "stopped" : state.Paused ? "paused" : "running",
    reason: toReason(state),
    isOomKilled: state.OOMKilled || numberOf(report, "killed") > 0,
    limits,
    enforcedBy: toEnforcement(report, limits, host),
    ended: report.ended,
    usage: {
      memoryBytes: orNull(numberOf(report, "memory_used")),
      diskBytes: null,
      processes: orNull(numberOf(report, "processes")),
    },
  };
}
