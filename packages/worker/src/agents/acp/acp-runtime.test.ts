/** An agent over ACP keeps the port's promises. */
import { ACP_SUBJECT } from "../../../../testkit/src/acp/acp-subject.ts";
import { describeAgentRuntime } from "../../../../testkit/src/conformance/agent-runtime.ts";

describeAgentRuntime(ACP_SUBJECT);
