/** What a worker's event means for its sandbox's state. */
import type { SandboxState } from "@drover/contract";
import { step } from "./machine.ts";
import { SANDBOX, type SandboxTrigger } from "./sandbox-machine.ts";

/** Events that say nothing about work: everything else, also what we do not know, is work. */
const NON_WORK: ReadonlySet<string> = new Set([
  "agent.heartbeat",
  "heartbeat",
  "spec.heartbeat",
  "agent.started",
  "agent.error",
  "agent.stream_error",
  "spec.phase_failed",
  "spec.execution_failed",
  "iteration.failed",
  "agent.waiting",
  "agent.shutdown",
  "agent.interrupted",
  "agent.completed",
  "agent.failed",
  "agent.resumed",
  "agent.transcript_saved",
  "continuous.completed",
  "workspace.checkpoint",
  "workspace.unwatched",
  "sandbox.provisioning",
  "worker.event_rejected",
  "worker.artifact_rejected",
  "worker.undrained",
]);

export const isWork = (eventType: string): boolean => !NON_WORK.has(eventType);

/** Steps to try, in order; those the table does not allow in the present state are passed over. A map, because a worker
 *  may call an event `constructor`. */
const MEANING: ReadonlyMap<string, readonly SandboxTrigger[]> = new Map<string, readonly SandboxTrigger[]>([
  ["sandbox.provisioning", ["provisioned"]],
  ["agent.completed", ["provisioned", "started", "finished", "delivered"]],
  ["agent.failed", ["provisioned", "started", "failed"]],
]);

const CONTACT: readonly SandboxTrigger[] = ["provisioned", "started"];
const WORK: readonly SandboxTrigger[] = ["provisioned", "started", "worked"];

/** The states a sandbox passes through because of this event; empty when it stays where it is. */
export function decideStates(from: SandboxState, eventType: string): readonly SandboxState[] {
  const triggers = MEANING.get(eventType) ?? (isWork(eventType) ? WORK : CONTACT);
  const passed: SandboxState[] = [];
  let state = from;
  for (const trigger of triggers) {
    const next = step(SANDBOX, state, trigger);
    if (!next.ok) continue;
    state = next.to;
    passed.push(state);
  }
  return passed;
}
