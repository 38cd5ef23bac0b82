/** An agent of an OpenHands agent server keeps the port's promises. */
import { describeAgentRuntime } from "../../../../testkit/src/conformance/agent-runtime.ts";
import { OPENHANDS_SUBJECT } from "../../../../testkit/src/openhands/openhands-subject.ts";

describeAgentRuntime(OPENHANDS_SUBJECT);
