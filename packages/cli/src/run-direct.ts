/** drover run --direct: one task in one sandbox by this process, without a server. */
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { LogEvent } from "@drover/client";
import type { Config, JsonObject, WorkspaceMode } from "@drover/contract";
import type { Executor, RunEvent, SandboxWorkspace } from "@drover/harness";
import { loadConfigSources, resolveConfig } from "@drover/server/config";
import { formatEvent } from "./event-line.ts";
import { EXIT, UsageError } from "./exit-code.ts";
import type { Arguments, Context } from "./verb.ts";

const VERB = "run";
const TIMEOUT_SECONDS = 300;
const QUIET: ReadonlySet<string> = new Set(["agent.heartbeat"]);

/** What belongs to a server, or is decided by its project. */
const NOT_DIRECT = ["follow", "provider", "project", "resume", "continuous", "label", "network"] as const;

const toLine = ({ event_type, event_data, created_at, sandbox_seq }: RunEvent) =>
  ({ event_type, event_data, created_at, sandbox_seq }) as unknown as LogEvent;

async function readScript(path: string | undefined, cwd: string): Promise<JsonObject | undefined> {
  if (path === undefined) return undefined;
  const { parseScriptText } = await import("@drover/worker");
  try {
    return parseScriptText(await readFile(resolve(cwd, path), "utf8")) as unknown as JsonObject;
  } catch (error) {
    throw new UsageError(`--script ${path}: ${error instanceof Error ? error.message : String(error)}`, VERB);
  }
}

/** What the verb has read of its flags. */
export interface Given {
  readonly getAmount: (flag: string) => number | undefined;
  readonly env: Readonly<Record<string, string>>;
}

interface Prepared extends AsyncDisposable {
  readonly executor: Executor;
}

async function prepare(
  context: Context,
  args: Arguments,
  config: Config,
  mode: WorkspaceMode,
  { getAmount, env }: Given,
): Promise<Prepared> {
  const { createDirectExecutor, createRemoteExecutor, openWorkspace } = await import("@drover/harness");
  const url = args.get("agent-server") ?? config.agentServerUrl;
  const { signal } = context;
  if (mode === "remote") {
    if (url === undefined) throw new UsageError("--mode remote needs --agent-server, or DROVER_AGENT_SERVER_URL", VERB);
    const model = args.get("model");
    if (model === undefined) throw new UsageError("--mode remote needs --model, such as openai/gpt-5.5", VERB);
    const remote = { url, key: config.agentServerKey, root: config.workspaceRoot };
    const workspace = await openWorkspace({ mode, config, remote, signal });
    const repo = args.get("repo");
    const branch = args.get("branch");
    if (repo !== undefined) await workspace.gitClone(repo, { signal, ...(branch === undefined ? {} : { branch }) });
    const vendor = model.split("/", 1)[0];
    const known = {
      anthropic: { api_key: config.anthropicApiKey, base_url: config.anthropicBaseUrl },
      openai: { api_key: config.openaiApiKey, base_url: config.openaiBaseUrl },
      gemini: { api_key: config.geminiApiKey, base_url: config.geminiBaseUrl },
    };
    const llm = { model, ...known[vendor as keyof typeof known] };
    const executor = createRemoteExecutor({ url, key: config.agentServerKey, directory: workspace.directory, llm });
    return { executor, [Symbol.asyncDispose]: () => workspace.dispose() };
  }
  const sizes = {
    sandboxMemoryGb: getAmount("memory") ?? config.sandboxMemoryGb,
    sandboxCpu: getAmount("cpu") ?? config.sandboxCpu,
    sandboxDiskGb: getAmount("disk") ?? config.sandboxDiskGb,
  };
  const workspace = (await openWorkspace({
    mode,
    config: { ...config, ...sizes },
    env,
    runtime: args.get("runtime"),
    image: args.get("image"),
    snapshot: args.get("snapshot"),
    signal,
  })) as SandboxWorkspace;
  try {
    const repo = args.get("repo");
    const branch = args.get("branch");
    if (repo !== undefined) await workspace.gitClone(repo, { signal, ...(branch === undefined ? {} : { branch }) });
    const executor = createDirectExecutor({
      workspace,
      config,
      runtime: args.get("runtime"),
      model: args.get("model"),
      budgetUsd: getAmount("budget"),
      script: await readScript(args.get("script"), context.cwd),
    });
    return { executor, [Symbol.asyncDispose]: () => workspace.dispose() };
  } catch (error) {
    await workspace.dispose();
    throw error;
  }
}

export async function runDirect(context: Context, args: Arguments, prompt: string, given: Given): Promise<number> {
  for (const flag of NOT_DIRECT)
    if (args.has(flag)) throw new UsageError(`--${flag} needs a server and does not go with --direct`, VERB);
  const { parseWorkspaceMode } = await import("@drover/harness");
  const { config } = resolveConfig({ env: context.env, ...loadConfigSources(context.cwd) });
  let mode: WorkspaceMode;
  try {
    mode = parseWorkspaceMode(args.get("mode") ?? config.workspaceMode);
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error), VERB);
  }
  const isJson = args.has("json");
  await using prepared = await prepare(context, args, config, mode, given);
  const result = await prepared.executor.execute(prompt, {
    timeoutMs: (given.getAmount("timeout") ?? TIMEOUT_SECONDS) * 1_000,
    signal: context.signal,
    onEvent: (event) => {
      if (isJson) context.print(JSON.stringify(event));
      else if (!QUIET.has(event.event_type)) context.print(formatEvent(toLine(event), context.width, context.paint));
    },
  });
  context.print(JSON.stringify(result));
  return result.status === "completed" ? EXIT.ok : EXIT.failed;
}
