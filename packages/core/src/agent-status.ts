/** What an agent is said to be, read off the state and the condition of its sandbox. */
import type { AgentStatus, SandboxState } from "@drover/contract";
import type { Condition } from "./condition.ts";

export const AGENT_STATUS: Readonly<Record<SandboxState, AgentStatus>> = {
  pending: "SPAWNING",
  creating: "SPAWNING",
  running: "RUNNING",
  paused: "IDLE",
  completing: "RUNNING",
  completed: "IDLE",
  failed: "FAILED",
  cancelled: "TERMINATED",
  terminated: "TERMINATED",
};

export type SilenceRung = "warned" | "degraded" | "failed";

const RUNGS: Readonly<Partial<Record<Condition, SilenceRung>>> = {
  late: "warned",
  warned: "degraded",
  dead: "failed",
};

/** How far the silence of a worker has come; undefined for one that is heard. */
export const toSilenceRung = (condition: string | null): SilenceRung | undefined =>
  condition === null ? undefined : RUNGS[condition as Condition];
