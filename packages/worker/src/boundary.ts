/** Reads off the events that pass by when a tool or a turn has ended. */
import type { AgentEvent, Boundary } from "./agent-runtime.ts";

const TOOL_ENDS = new Set([
  "agent.tool_result",
  "agent.tool_completed",
  "agent.subagent_completed",
  "agent.skill_completed",
]);
const TURN_ENDS = new Set(["agent.turn_complete", "agent.completed", "agent.failed", "agent.interrupted"]);
/** They change no file. What something in the background changed meanwhile is found at the next boundary. */
const READERS = new Set([
  "Read",
  "Grep",
  "Glob",
  "LS",
  "NotebookRead",
  "TodoRead",
  "TodoWrite",
  "WebFetch",
  "WebSearch",
]);

export interface Boundaries {
  follow(event: AgentEvent): Boundary | undefined;
}

export function createBoundaries(): Boundaries {
  const readers = new Set<string>();
  return {
    follow({ event_type, event_data }) {
      const { turn, tool, tool_use_id } = event_data;
      const id = typeof tool_use_id === "string" ? tool_use_id : undefined;
      if (event_type === "agent.tool_use" && id !== undefined && READERS.has(String(tool))) readers.add(id);
      const at = { turn: typeof turn === "number" ? turn : 0 };
      if (TURN_ENDS.has(event_type)) {
        readers.clear();
        return { kind: "turn", ...at };
      }
      if (!TOOL_ENDS.has(event_type) || (id !== undefined && readers.has(id))) return undefined;
      return { kind: "tool", ...at, ...(id === undefined ? {} : { toolUseId: id }) };
    },
  };
}
