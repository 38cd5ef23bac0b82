/** The Claude SDK by itself: no worker, no gateway, no hooks. What it takes from a tool's end to its next request is its own. */
import { createInputStream } from "../packages/worker/src/agents/claude/input-stream.ts";
import { loadSdk } from "../packages/worker/src/agents/claude/sdk.ts";
import { randomUUID } from "node:crypto";
import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";

export interface BareClaude {
  send(text: string): void;
  end(): Promise<void>;
}

export async function startBareClaude(agentHome: string, modelUrl: string, folder: string): Promise<BareClaude> {
  const [cwd, home] = [join(folder, "work"), join(folder, "home")];
  for (const one of [cwd, home]) await mkdir(one, { recursive: true });
  const sdk = await loadSdk(agentHome);
  const input = createInputStream();
  const abortController = new AbortController();
  input.push("Wait, again and again.", randomUUID());
  const query = sdk.query({
    prompt: input,
    // Only what the comparison needs; the type asks for what the worker gives.
    options: {
      cwd,
      abortController,
      permissionMode: "acceptEdits",
      allowedTools: ["Bash"],
      // As the worker's: what the agent reads and sends is the same.
      settingSources: ["project"],
      systemPrompt: { type: "preset", preset: "claude_code" },
      model: "claude-sonnet-4-5",
      env: {
        PATH: `${dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin`,
        HOME: home,
        CLAUDE_CONFIG_DIR: join(home, ".claude"),
        ANTHROPIC_BASE_URL: modelUrl,
        ANTHROPIC_API_KEY: "none",
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
        DISABLE_TELEMETRY: "1",
        DISABLE_ERROR_REPORTING: "1",
        DISABLE_AUTOUPDATER: "1",
        IS_SANDBOX: "1",
      },
    } as never,
  });
  const done = (async () => {
    for await (const _message of query);
  })().catch(() => undefined); // ended by us
  return {
    send: (text) => input.push(text, randomUUID()),
    async end() {
      input.end();
      abortController.abort();
      await done;
    },
  };
}
