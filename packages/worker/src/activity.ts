/** What the agent is doing right now, read off the events that pass by; heartbeats tell it. */
import type { AgentEvent } from "./agent-runtime.ts";

export interface Activity {
  readonly status: "running" | "idle";
  readonly tool?: { readonly id: string; readonly name: string; readonly since: Date };
}

export const IDLE: Activity = { status: "idle" };

export function foldActivity(activity: Activity, event: AgentEvent, now: Date): Activity {
  const { tool, tool_use_id: id } = event.event_data;
  switch (event.event_type) {
    case "agent.tool_use":
    case "agent.subagent_invoked":
    case "agent.skill_invoked":
      return { status: "running", tool: { id: String(id), name: String(tool), since: now } };
    case "agent.tool_result":
      return activity.tool?.id === id ? { status: "running" } : activity;
    case "agent.waiting":
    case "agent.completed":
    case "agent.failed":
    case "agent.interrupted":
      return IDLE;
    default:
      return event.event_type.startsWith("agent.") ? { ...activity, status: "running" } : activity;
  }
}
