/** What the agent is asked to do: the assignment, with what the worker's own environment says winning over it. */
import { type Assignment, PermissionPolicy } from "@drover/contract";
import { existsSync } from "node:fs";
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { WorkOrder } from "./agent-runtime.ts";
import { parseScriptText } from "./agents/script.ts";
import { toResumedPrompt } from "./restore.ts";
import type { Settings } from "./settings.ts";

/** What an order holds besides wishes: the worker's own means. */
export type OrderMeans = Pick<
  WorkOrder,
  "clock" | "newId" | "env" | "mark" | "bridgeUrl" | "isBudgetSpent" | "keepArtifact" | "atBoundary" | "resume"
>;

/** A script on the worker's own disk is for the agent that plays scripts. */
export const toRuntimeName = (settings: Settings, assignment: Assignment): string =>
  settings.scriptFile === undefined ? assignment.runtime : "scripted";

async function loadScript(settings: Settings, assignment: Assignment): Promise<WorkOrder["script"]> {
  if (settings.scriptFile === undefined) return assignment.script;
  // Parsed here too: a wrong script is told at the start.
  return parseScriptText(await readFile(settings.scriptFile, "utf8")) as unknown as WorkOrder["script"];
}

/** Only agents that are installed have a place there. */
function findAgentHome(settings: Settings, name: string): string | undefined {
  const path = join(settings.agentsDir, name);
  return existsSync(path) ? path : undefined;
}

export const toHome = (settings: Settings): string => join(settings.stateDir, "home");

export async function prepareOrder(settings: Settings, assignment: Assignment, means: OrderMeans): Promise<WorkOrder> {
  const { agent } = assignment;
  const home = toHome(settings);
  await mkdir(settings.cwd, { recursive: true });
  await mkdir(home, { recursive: true, mode: 0o700 });
  return {
    ...means,
    sandboxId: assignment.sandbox_id,
    prompt: toResumedPrompt(
      means.resume,
      assignment.resume,
      settings.prompt ?? assignment.prompt ?? settings.ticketPrompt ?? "",
    ),
    model: settings.model ?? assignment.model,
    branch: settings.branch ?? assignment.branch,
    script: await loadScript(settings, assignment),
    command: settings.agentCommand ?? agent.command ?? null,
    cwd: settings.cwd,
    home,
    agentHome: findAgentHome(settings, toRuntimeName(settings, assignment)),
    isIsolated: settings.isIsolated,
    permissionMode: settings.permissionMode ?? agent.permission_mode ?? "acceptEdits",
    permissionPolicy:
      agent.permission_policy ?? PermissionPolicy.parse({ decision: settings.isIsolated ? "allow" : "ask" }),
    maxTurns: settings.maxTurns ?? agent.max_turns ?? null,
    maxBudgetUsd: settings.maxBudgetUsd ?? null,
    timeoutSeconds: assignment.timeout_s,
    allowedTools: settings.allowedTools ?? agent.allowed_tools ?? [],
    disallowedTools: settings.disallowedTools ?? agent.disallowed_tools ?? [],
    mcpServers: {
      ...agent.mcp_servers,
      ...(settings.mcpServerUrl === undefined
        ? {}
        : { orchestrator: { type: "http", url: settings.mcpServerUrl, headers: {} } }),
    },
    subagents: settings.subagents === false ? null : (agent.subagents ?? {}),
    skills: settings.skills ?? agent.skills ?? true,
    questions: settings.questions ?? null,
    settingSources: settings.settingSources ?? null,
    systemPrompt: settings.systemPrompt ?? null,
    systemPromptAppend: settings.systemPromptAppend ?? agent.system_prompt_append ?? null,
    continuous: settings.continuous ?? assignment.continuous,
    postCompletionSeconds: settings.postCompletionSeconds ?? assignment.post_completion_s,
  };
}
