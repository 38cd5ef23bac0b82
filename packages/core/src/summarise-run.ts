/** What went before, for an agent that does not remember it: told from the log, newest parts kept whole. Pure. */

export interface TellingEvent {
  readonly event_type: string;
  readonly event_data: unknown;
}

const LIMIT_CHARACTERS = 12_000;
const LINE_CHARACTERS = 600;

const toShort = (value: unknown): string => {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length > LINE_CHARACTERS ? `${line.slice(0, LINE_CHARACTERS)}…` : line;
};

function toLine({ event_type, event_data }: TellingEvent): string | undefined {
  const data = (typeof event_data === "object" && event_data !== null ? event_data : {}) as Readonly<
    Record<string, unknown>
  >;
  switch (event_type) {
    case "agent.message":
      return `You said: ${toShort(data["content"])}`;
    case "agent.message_injected":
      return `You were told: ${toShort(data["content"])}`;
    case "agent.tool_use":
      return `You used ${toShort(data["tool"])}: ${toShort(data["input"])}`;
    case "agent.file_edited":
      return `File ${toShort(data["change_type"])}: ${toShort(data["file_path"])}`;
    case "agent.completed":
      return `You finished: ${toShort(data["final_output"])}`;
    case "agent.failed":
      return `The run failed: ${toShort(data["error"])}`;
    case "agent.interrupted":
      return `You were interrupted: ${toShort(data["reason"])}`;
    default:
      return undefined;
  }
}

/** `newestFirst` may hold more than fits; empty when there is nothing to tell. */
export function summariseRun(prompt: string | null, newestFirst: readonly TellingEvent[]): string {
  const lines: string[] = [];
  let size = 0;
  for (const event of newestFirst) {
    const line = toLine(event);
    if (line === undefined) continue;
    size += line.length + 1;
    if (size > LIMIT_CHARACTERS) break;
    lines.push(line);
  }
  if (lines.length === 0) return "";
  const isCut = lines.length < newestFirst.length;
  return [
    "You worked on this before, in another session that you do not remember. The files are as you left them.",
    ...(prompt === null ? [] : [`The task was: ${toShort(prompt)}`]),
    isCut ? "The last things that happened, oldest first:" : "What happened, oldest first:",
    ...lines.toReversed(),
  ].join("\n");
}
