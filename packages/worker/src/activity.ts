/** What the agent is doing right now, read off the events that pass by; heartbeats tell it. */
import type { AgentEvent } from "./agent-runtime.ts";

interface OpenTool {
  readonly id: string;
  readonly name: string;
  readonly since: Date;
}

export interface Activity {
  readonly status: "running" | "idle";
  /** Oldest first. Several run at once, also below a sub-agent: while any of them does, the agent is busy. */
  readonly tools: readonly OpenTool[];
}

export const IDLE: Activity = { status: "idle", tools: [] };

export function foldActivity(activity: Activity, event: AgentEvent, now: Date): Activity {
  const { tool, tool_use_id: id } = event.event_data;
  const others = activity.tools.filter((one) => one.id !== id);
  switch (event.event_type) {
    case "agent.tool_use":
    case "agent.subagent_invoked":
    case "agent.skill_invoked":
      return { status: "running", tools: [...others, { id: String(id), name: String(tool), since: now }] };
    case "agent.tool_result":
      return { status: "running", tools: others };
    case "agent.waiting":
    case "agent.completed":
    case "agent.failed":
    case "agent.interrupted":
      return IDLE;
    default:
      return event.event_type.startsWith("agent.") ? { ...activity, status: "running" } : activity;
  }
}
