/** A work order that asks for nothing special, in one folder. */
import { randomBytes } from "node:crypto";
import { PermissionPolicy } from "@drover/contract";
import type { WorkOrder } from "../../../../worker/src/agent-runtime.ts";
import { systemClock } from "../../../../worker/src/clock.ts";

export const makePlainOrder = (folder: string): WorkOrder => ({
  sandboxId: "drover-0123abcd-456789",
  prompt: "work",
  model: null,
  branch: null,
  script: null,
  command: null,
  cwd: folder,
  env: {},
  home: folder,
  agentHome: undefined,
  bridgeUrl: "",
  isBudgetSpent: () => false,
  isIsolated: true,
  permissionMode: "acceptEdits",
  permissionPolicy: PermissionPolicy.parse({}),
  maxTurns: null,
  maxBudgetUsd: null,
  timeoutSeconds: null,
  allowedTools: [],
  disallowedTools: [],
  mcpServers: {},
  subagents: {},
  skills: true,
  questions: null,
  settingSources: null,
  systemPrompt: null,
  systemPromptAppend: null,
  continuous: false,
  resume: null,
  mark: undefined,
  postCompletionSeconds: 3_600,
  clock: systemClock,
  newId: () => randomBytes(4).toString("hex"),
  keepArtifact: () => Promise.resolve("0".repeat(64)),
  atBoundary: () => Promise.resolve([]),
});
