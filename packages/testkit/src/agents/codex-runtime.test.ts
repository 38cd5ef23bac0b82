/** The real Codex over ACP: steered in a tool, and gone on with in another sandbox. All scenarios: `npm run cards codex`. */
import { describeAgentRuntime } from "../conformance/agent-runtime.ts";
import { getAcpSubject, getMovedSession } from "./acp-subjects.ts";
import { describeMovedSession } from "./moved-session.ts";

describeMovedSession(getMovedSession("codex"));
describeAgentRuntime(getAcpSubject("codex"), ["a message while a tool runs"]);
