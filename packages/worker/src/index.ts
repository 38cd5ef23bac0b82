/** The worker as a library: the CLI's verb and the tests run it in their own process. */
export type {
  AgentCapabilities,
  AgentEnd,
  AgentEvent,
  AgentRuntime,
  AgentSession,
  AgentStep,
  Boundary,
  PermissionAnswer,
  Receipt,
  Resume,
  WorkOrder,
} from "./agent-runtime.ts";
export { createClaude } from "./agents/claude/claude.ts";
export { createScripted } from "./agents/scripted.ts";
export { parseScript, parseScriptText, Script, Step } from "./agents/script.ts";
export { DEMO_SCRIPT } from "./agents/demo-script.ts";
export { FAULT_POINTS, type Fault, type FaultPoint, parseFault } from "./fault.ts";
export { runProcess } from "./run-process.ts";
export { EXIT_CODES, runWorker, type WorkerExit, type WorkerParts } from "./run-worker.ts";
export type { Call, Reply, Transport } from "./transport.ts";
