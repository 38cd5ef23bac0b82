/** An agent of your own: one file that speaks the Agent Client Protocol over its standard input and output. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";

let cwd = ".";
const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
const update = (sessionId, told) => send({ method: "session/update", params: { sessionId, update: told } });

const METHODS = {
  initialize: () => ({ protocolVersion: 1, agentCapabilities: {}, authMethods: [] }),
  "session/new": (params) => {
    cwd = params.cwd;
    return { sessionId: "only-one" };
  },
  "session/prompt": ({ sessionId, prompt }) => {
    const words = prompt.map((part) => part.text ?? "").join(" ");
    const path = join(cwd, "ANSWER.md");
    const tool = { toolCallId: "write-1", title: "Write ANSWER.md", kind: "edit", locations: [{ path }] };
    update(sessionId, { sessionUpdate: "tool_call", ...tool, status: "in_progress" });
    writeFileSync(path, `You asked: ${words}\n`);
    update(sessionId, { sessionUpdate: "tool_call_update", toolCallId: "write-1", status: "completed" });
    update(sessionId, { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "I wrote ANSWER.md." } });
    return { stopReason: "end_turn" };
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  const answer = METHODS[method];
  send(answer ? { id, result: answer(params) } : { id, error: { code: -32601, message: `no method ${method}` } });
}
