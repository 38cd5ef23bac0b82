/** Claude keeps the port's promises. */
import { describeAgentRuntime } from "../conformance/agent-runtime.ts";
import { CLAUDE_SUBJECT } from "./claude-subject.ts";

describeAgentRuntime(CLAUDE_SUBJECT);
