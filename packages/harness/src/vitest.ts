/** Fixtures for vitest: a workspace for each test, one for the whole file, and an agent that works in it. */
import type { Config } from "@drover/contract";
import { test as base } from "vitest";
import { createDirectExecutor, type DirectOptions } from "./direct-executor.ts";
import { openSandboxWorkspace, type SandboxWorkspace } from "./provider-workspace.ts";
import type { ExecuteOptions, RunEvent, RunResult } from "./run-result.ts";

export interface AgentRun extends RunResult {
  readonly events: readonly RunEvent[];
}

export interface HarnessAgent {
  /** Runs one task in `workspace` and waits for its end. */
  run(
    task: string,
    options?: Omit<DirectOptions, "workspace" | "config"> & Omit<ExecuteOptions, "onEvent">,
  ): Promise<AgentRun>;
}

export interface HarnessOptions {
  readonly mode?: SandboxWorkspace["mode"];
  /** An installed agent that tests want to run. */
  readonly runtime?: string;
}

/** Each fixture is made only where a test asks for it. */
export const createHarnessTest = (config: Config, { mode = "local", runtime }: HarnessOptions = {}) =>
  base.extend<{
    $test: { workspace: SandboxWorkspace; agent: HarnessAgent };
    $file: { sharedWorkspace: SandboxWorkspace };
  }>({
    workspace: async ({}, use) => {
      await using workspace = await openSandboxWorkspace({ mode, config, runtime });
      await use(workspace);
    },
    sharedWorkspace: [
      async ({}, use) => {
        await using workspace = await openSandboxWorkspace({ mode, config, runtime });
        await use(workspace);
      },
      { scope: "file" },
    ],
    agent: async ({ workspace }, use) => {
      const run: HarnessAgent["run"] = async (task, { timeoutMs, signal, ...options } = {}) => {
        const events: RunEvent[] = [];
        const result = await createDirectExecutor({ workspace, config, runtime, ...options }).execute(task, {
          onEvent: (event) => void events.push(event),
          ...(timeoutMs === undefined ? {} : { timeoutMs }),
          ...(signal === undefined ? {} : { signal }),
        });
        return { ...result, events };
      };
      await use({ run });
    },
  });
