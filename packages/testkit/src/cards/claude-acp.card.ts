/** The whole suite of runtimes against the real agent, and its session in another sandbox; run by `npm run cards`. */
import { getAcpSubject, getMovedSession } from "../agents/acp-subjects.ts";
import { describeMovedSession } from "../agents/moved-session.ts";
import { COMMAND, describeSmoke } from "../agents/smoke-run.ts";
import { describeAgentRuntime } from "../conformance/agent-runtime.ts";

describeSmoke({
  runtime: "claude-acp",
  tool: { name: "Bash", input: { command: COMMAND, description: "Make a file" } },
  toKey: (headers) => headers["x-api-key"],
  secret: "anthropic",
});
describeMovedSession(getMovedSession("claude-acp"));
describeAgentRuntime(getAcpSubject("claude-acp"));
