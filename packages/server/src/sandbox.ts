/** Sandboxes as a library, for who runs them without a server: providers, the gate into them, workers, repositories, models. */
export { openNpmPackages } from "./adapters/agent-packages-npm.ts";
export { openConversationSource } from "./adapters/conversation-http.ts";
export { openGitMirrors } from "./adapters/git-mirror.ts";
export { openHttpVendors } from "./adapters/model-http.ts";
export { openDaytona } from "./adapters/sandbox-daytona.ts";
export { openDocker } from "./adapters/sandbox-docker.ts";
export { openLocalProvider } from "./adapters/sandbox-local.ts";
export { ensureAgentInside, findAgentMounts, requireRuntime } from "./app/agent-packages.ts";
export { openText } from "./app/bounded-text.ts";
export { checkOut } from "./app/fill-workspace.ts";
export { hideUsage, maskKey, meterAnswer, parseModelBody } from "./app/meter-answer.ts";
export { ensureWorker, toWorkerCommand } from "./app/worker-command.ts";
export { openSandboxGate } from "./http/sandbox-gate.ts";
export type { FileEntry, SandboxLimits, SandboxProvider, SandboxRef } from "./ports/sandbox-provider.ts";
