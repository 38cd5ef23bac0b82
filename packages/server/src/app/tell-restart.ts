/** What is told when an agent that was lost goes on, in the same sandbox or another, and when nobody may try again. */
import type { Clock } from "../ports/clock.ts";
import type { Ids } from "../ports/ids.ts";
import type { SandboxRow } from "../store/sandboxes.ts";
import { draftAgentEvent, type EventDraft } from "./event-log.ts";

type Lost = Pick<SandboxRow, "id" | "project_id" | "task_id">;

export const draftRestart = (
  deps: { readonly ids: Ids; readonly clock: Clock },
  lost: Lost,
  replacement: Pick<SandboxRow, "id" | "generation">,
  reason: string,
): EventDraft =>
  draftAgentEvent(deps.ids, lost, {
    eventType: "AGENT_RESTARTED",
    data: {
      replacement_agent_id: replacement.id,
      generation: replacement.generation,
      reason,
      // It was lost: nobody could be asked to stop.
      graceful_stop_success: false,
      reassigned_tasks: lost.task_id === null ? [] : [lost.task_id],
      occurred_at: deps.clock.now().toISOString(),
    },
  });

export const draftEscalation = (
  deps: { readonly ids: Ids },
  lost: SandboxRow,
  reason: string,
  allowed: number,
): EventDraft =>
  draftAgentEvent(deps.ids, lost, {
    eventType: "RESTART_ESCALATION",
    data: { reason, restarts: lost.generation - 1, max_restarts: allowed },
  });
