/** What Daytona tells of a sandbox, in our words. */
import type { Sandbox } from "@daytona/sdk";
import type { Labels, SandboxInfo, SandboxRef } from "../../ports/sandbox-provider.ts";
import type { Client } from "./client.ts";
import { KEY_LABEL } from "./create-sandbox.ts";
import { readDetachedArgv } from "./in-sandbox.ts";
import { toMeaning } from "./sandbox-state.ts";
import { readToldLines } from "./told-lines.ts";

export const DETACHED_SESSION = "detached-";
const GIB = 1024 ** 3;
/** Added by the SDK to every sandbox. */
const LANGUAGE_LABEL = "code-toolbox-language";

const ENFORCED_BY: SandboxInfo["enforcedBy"] = {
  memory: "provider",
  cpu: "provider",
  disk: "provider",
  processes: "none",
  network: "none",
  isolation: "provider",
};

/** Undefined for a sandbox that is none of ours. */
function toRef({ id, labels }: Sandbox): SandboxRef | undefined {
  const { [KEY_LABEL]: key, [LANGUAGE_LABEL]: _language, ...others } = labels;
  return key === undefined ? undefined : { key, id, labels: others };
}

export async function listRefs({ daytona }: Client, labels: Labels): Promise<readonly SandboxRef[]> {
  const refs: SandboxRef[] = [];
  for await (const sandbox of daytona.list({ labels: { ...labels } })) {
    const ref = toMeaning(sandbox.state).kind === "gone" ? undefined : toRef(sandbox);
    if (ref !== undefined) refs.push(ref);
  }
  return refs;
}

type Ended = SandboxInfo["ended"][number];

async function loadEnded(sandbox: Sandbox, session: string, id: string, argv: readonly string[]): Promise<Ended> {
  const lines = readToldLines(() => undefined);
  const { stdout } = await sandbox.process.getSessionCommandLogs(session, id);
  lines.read(stdout ?? "");
  // One that could not tell its end was killed from outside.
  return { argv, code: lines.end?.code ?? null, signal: lines.end === undefined ? "SIGKILL" : lines.end.signal };
}

async function listEnded(sandbox: Sandbox): Promise<SandboxInfo["ended"]> {
  const sessions = await sandbox.process.listSessions();
  const ended = sessions
    .filter(({ sessionId }) => sessionId.startsWith(DETACHED_SESSION))
    .flatMap(({ sessionId, commands }) =>
      commands.flatMap(({ id, command, exitCode }) => {
        const argv = readDetachedArgv(command);
        return argv === undefined || exitCode === undefined ? [] : [loadEnded(sandbox, sessionId, id, argv)];
      }),
    );
  return Promise.all(ended);
}

export async function toInfo(sandbox: Sandbox): Promise<SandboxInfo | undefined> {
  const { state, reason } = toMeaning(sandbox.state);
  if (state === undefined) return undefined;
  const [ended, usage] =
    state === "running"
      ? // Expected of the second: an older sandbox that does not measure.
        await Promise.all([listEnded(sandbox), sandbox.getMetricsLatest().catch(() => undefined)])
      : [[], undefined];
  return {
    state,
    reason: state === "running" ? null : (sandbox.errorReason ?? reason),
    isOomKilled: false,
    // Daytona knows no limit of processes.
    limits: { cpus: sandbox.cpu, memoryBytes: sandbox.memory * GIB, diskBytes: sandbox.disk * GIB, processes: 0 },
    enforcedBy: ENFORCED_BY,
    ended,
    usage: { memoryBytes: usage?.memUsed ?? null, diskBytes: usage?.diskUsed ?? null, processes: null },
  };
}
