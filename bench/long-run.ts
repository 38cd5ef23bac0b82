/** A long session as an agent leaves it: what it said, ran, read, changed and spent, a hundred turns and more. */
export interface RunEvent {
  readonly event_type: string;
  readonly event_data: Readonly<Record<string, unknown>>;
  readonly source?: "agent" | "worker";
}

const OUTPUT = Array.from(
  { length: 12 },
  (_, n) => `\u001B[32mok\u001B[0m line ${n} of the output of a command that says a lot`,
).join("\n");
const DIFF = `@@ -1,20 +1,20 @@\n${"-an old line\n+a new line\n".repeat(20)}`;

/** The nth event; eight make one step of work. */
export function toRunEvent(n: number): RunEvent {
  const id = `call-${Math.floor(n / 8)}`;
  const turn = 1 + Math.floor(n / 240);
  switch (n % 8) {
    case 0:
      return {
        event_type: "agent.message",
        event_data: { turn, content: `Step **${n}** with \`code\`, and a sentence that says why.` },
      };
    case 1:
      return { event_type: "agent.thinking", event_data: { turn, content: "A longer thought. ".repeat(20) } };
    case 2:
      return {
        event_type: "agent.tool_use",
        event_data: { turn, tool: "Bash", tool_use_id: id, input: { command: `npm test ${n}` } },
      };
    case 3:
      return {
        event_type: "agent.tool_completed",
        event_data: { turn, tool: "Bash", tool_use_id: id, tool_response: { stdout: OUTPUT, exit_code: 0 } },
      };
    case 4:
      return {
        event_type: "agent.file_edited",
        event_data: {
          turn,
          file_path: `src/${n % 300}.ts`,
          change_type: "modified",
          lines_added: 20,
          lines_removed: 20,
          full_diff: DIFF,
        },
      };
    case 5:
      return { event_type: "agent.heartbeat", event_data: {}, source: "worker" };
    case 6:
      return {
        event_type: "agent.tool_use",
        event_data: { turn, tool: "Read", tool_use_id: `${id}r`, input: { file_path: `src/${n % 300}.ts` } },
      };
    default:
      return {
        event_type: "agent.tool_completed",
        event_data: { turn, tool: "Read", tool_use_id: `${id}r`, tool_response: "const x = 1;\n".repeat(10) },
      };
  }
}

const BATCH = 500;

export async function postEvents(
  url: string,
  sandbox: { readonly id: string; readonly token: string },
  events: readonly RunEvent[],
): Promise<void> {
  for (let from = 0; from < events.length; from += BATCH) {
    const reply = await fetch(`${url}/api/v1/sandboxes/${sandbox.id}/events`, {
      method: "POST",
      headers: { authorization: `Bearer ${sandbox.token}`, "content-type": "application/json" },
      body: JSON.stringify({ events: events.slice(from, from + BATCH) }),
    });
    if (!reply.ok) throw new Error(`events refused: ${reply.status} ${await reply.text()}`);
    await reply.arrayBuffer();
  }
}
