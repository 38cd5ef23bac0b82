/** The whole suite of runtimes against the real agent, and its session in another sandbox; run by `npm run cards`. */
import { getAcpSubject, getMovedSession } from "../agents/acp-subjects.ts";
import { describeMovedSession } from "../agents/moved-session.ts";
import { describeAgentRuntime } from "../conformance/agent-runtime.ts";

describeMovedSession(getMovedSession("claude-acp"));
describeAgentRuntime(getAcpSubject("claude-acp"));
