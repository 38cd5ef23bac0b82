/** One task in one sandbox, without queue and without server. See docs/HARNESS.md. */
export { createDirectExecutor, type DirectOptions } from "./direct-executor.ts";
export { openWorkspace, parseWorkspaceMode, type WorkspaceOptions } from "./open-workspace.ts";
export type { SandboxWorkspace } from "./provider-workspace.ts";
export { createRemoteExecutor, type RemoteExecutorOptions } from "./remote-executor.ts";
export type { RemoteWorkspace } from "./remote-workspace.ts";
export type { ExecuteOptions, Executor, RunEvent, RunResult, RunStatus } from "./run-result.ts";
export type { ExecOptions, ExecResult, ListedFile, Workspace } from "./workspace.ts";
