/** The agent's own process: in a group of its own, so that nothing it started outlives it. */
import { type ChildProcess, spawn } from "node:child_process";
import type { SpawnRequest } from "./sdk.ts";

const KILL_AFTER_MS = 2_000;

/** Both null: it never ran. */
export interface AgentDeath {
  readonly code: number | null;
  readonly signal: string | null;
}

export interface AgentProcess {
  /** As the SDK wants it started. */
  readonly start: (request: SpawnRequest) => ChildProcess;
  /** Ends the process and all it started, and resolves when it is gone with how it went. */
  end(): Promise<AgentDeath>;
}

/** `onSaid` gets what it writes to standard error: the SDK reads that only of processes it starts itself. */
export function createAgentProcess(onSaid: (text: string) => void): AgentProcess {
  let child: ChildProcess | undefined;
  let gone: Promise<AgentDeath> = Promise.resolve({ code: null, signal: null });
  const kill = (name: "SIGTERM" | "SIGKILL") => {
    try {
      if (child?.pid !== undefined) process.kill(-child.pid, name);
    } catch {
      // Expected: the group is gone already.
    }
  };
  return {
    start({ command, args, cwd, env }) {
      const started = spawn(command, [...args], {
        cwd,
        env: { ...env },
        stdio: ["pipe", "pipe", "pipe"],
        detached: true,
      });
      child = started;
      started.stderr.setEncoding("utf8").on("data", onSaid);
      gone = new Promise((resolve) => {
        started.once("exit", (code, signal) => resolve({ code, signal }));
        started.once("error", () => resolve({ code: null, signal: null }));
      });
      return started;
    },
    async end() {
      kill("SIGTERM");
      const timer = setTimeout(() => kill("SIGKILL"), KILL_AFTER_MS);
      const death = await gone;
      clearTimeout(timer);
      kill("SIGKILL");
      return death;
    },
  };
}
