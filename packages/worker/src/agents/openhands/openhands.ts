/** Agents of an OpenHands agent server: one that runs already, or one that the sandbox starts. */
import type { AgentRuntime } from "../../agent-runtime.ts";
import { holdConversation } from "../hold-conversation.ts";
import { connectOpenHands } from "./connect-openhands.ts";

export const createOpenHands = (): AgentRuntime => ({
  name: "openhands",
  capabilities: {
    steer: "native",
    interrupt: true,
    hooks: false,
    permission: "requests",
    cost: true,
    resume: "native",
    toolLimits: "noticed",
    subagents: false,
  },
  // A server inside the sandbox is gone with it.
  isWholeInMark: ({ env }) => env["OPENHANDS_URL"] !== undefined,
  start: (order, signal) => holdConversation(order, connectOpenHands, signal),
});
