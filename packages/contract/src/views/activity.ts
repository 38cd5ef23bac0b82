/** An event as one short line: what a card of the list says of a run's last move. */
import { isError, toLifecycleSentence } from "./feed-lifecycle.ts";
import { toCommand, toSubject } from "./feed-tools.ts";
import type { LogEvent } from "./log-event.ts";
import { readNumber, readRecord, readText } from "./log-event.ts";

const LINE_CHARACTERS = 140;

const toLine = (text: string): string => {
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length > LINE_CHARACTERS ? `${line.slice(0, LINE_CHARACTERS - 1)}…` : line;
};

/** `null`: the event is no move of the agent (a heartbeat, a receipt). */
/** For the agent: people see who speaks. */
const GUARDIAN_MARK = /^\[GUARDIAN INTERVENTION[^\]]*\]\s*/;

export function toActivityLine(event: Pick<LogEvent, "event_type" | "event_data">): string | null {
  const { event_type: type, event_data: data } = event;
  const said = readText(data, "content", "text", "message");
  switch (type) {
    case "agent.message":
      // A card has one line and no markdown.
      return said === null ? null : toLine(said.replaceAll(/[*`#>]+/g, ""));
    case "agent.thinking":
      return "Thinking";
    case "MESSAGE_QUEUED":
    case "agent.message_injected":
      return said === null
        ? null
        : toLine(
            readText(data, "message_type") === "guardian_nudge"
              ? `Guardian: ${said.replace(GUARDIAN_MARK, "")}`
              : `You: ${said}`,
          );
    case "agent.tool_use":
    case "agent.subagent_invoked":
    case "agent.skill_invoked": {
      const input = readRecord(data, "input", "tool_input");
      const command = toCommand(input);
      if (command !== "") return toLine(`$ ${command}`);
      return toLine(`${readText(data, "tool", "tool_name") ?? "Tool"} ${toSubject({ input })}`);
    }
    case "agent.file_edited":
      return toLine(
        `Edit ${readText(data, "file_path") ?? ""} +${readNumber(data, "lines_added") ?? 0} −${readNumber(data, "lines_removed") ?? 0}`,
      );
    case "agent.permission_requested":
      return toLine(`Asks: ${readText(data, "question", "message", "tool") ?? "permission"}`);
    default:
  }
  if (isError(type)) return toLine(readText(data, "error", "message") ?? type);
  const sentence = toLifecycleSentence(event);
  return sentence === undefined
    ? null
    : toLine(sentence.detail ? `${sentence.title}: ${sentence.detail}` : sentence.title);
}
