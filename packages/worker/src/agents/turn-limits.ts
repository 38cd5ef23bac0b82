/** What an agent may do in a turn, for agents that keep no such limits themselves: how often its model is asked, and with which tools. */
import type { PermissionPolicy } from "@drover/contract";
import type { AgentEvent, WorkOrder } from "../agent-runtime.ts";
import { matchesTool } from "../permissions.ts";

type Limits = Pick<WorkOrder, "maxTurns" | "disallowedTools" | "allowedTools" | "permissionMode" | "permissionPolicy">;

/** Why the turn has to be stopped. */
export interface Breach {
  readonly error: string;
  readonly stopReason: "max_turns" | "disallowed_tool";
}

export interface TurnLimits {
  /** A new prompt: counting begins anew. */
  begin(): void;
  follow(event: AgentEvent): void;
  /** Resolves when the prompt that runs has to be stopped. */
  breached(): Promise<Breach>;
}

/** Plans are told as uses of this; no model was asked for one. */
const PLAN_TOOL = "TodoWrite";

/** Tools that are not offered are refused when the agent asks, before any other rule; `dontAsk` refuses all that nothing allows. */
export function toPolicy({
  permissionPolicy,
  permissionMode,
  allowedTools,
  disallowedTools,
}: Limits): PermissionPolicy {
  return {
    ...permissionPolicy,
    decision: permissionMode === "dontAsk" ? "deny" : permissionPolicy.decision,
    rules: [
      ...disallowedTools.map((tool) => ({ tool, decision: "deny" as const })),
      ...permissionPolicy.rules,
      ...allowedTools.map((tool) => ({ tool, decision: "allow" as const })),
    ],
  };
}

/** An answer of the model that uses tools is over when all of them have ended; the agent then asks again. */
export function createTurnLimits({ maxTurns, disallowedTools }: Limits): TurnLimits {
  const open = new Set<string>();
  let rounds = 0;
  let breach = Promise.withResolvers<Breach>();
  return {
    begin() {
      open.clear();
      rounds = 0;
      breach = Promise.withResolvers<Breach>();
    },
    follow({ event_type, event_data: { tool, tool_use_id: id, is_error: isError } }) {
      if (typeof id !== "string" || typeof tool !== "string" || tool === PLAN_TOOL) return;
      if (event_type === "agent.tool_use") {
        if (open.size === 0) rounds += 1;
        open.add(id);
      }
      if (event_type !== "agent.tool_result" || !open.delete(id)) return;
      if (isError === false && disallowedTools.some((pattern) => matchesTool(pattern, tool)))
        breach.resolve({
          error: `the agent used ${tool}, which this sandbox does not allow, and did not ask`,
          stopReason: "disallowed_tool",
        });
      if (maxTurns !== null && open.size === 0 && rounds >= maxTurns)
        breach.resolve({ error: `the limit of ${maxTurns} turns (max_turns) is reached`, stopReason: "max_turns" });
    },
    breached: () => breach.promise,
  };
}
