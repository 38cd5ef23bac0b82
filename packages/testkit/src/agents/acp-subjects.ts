/** The real agents that speak ACP, for the suite of runtimes: each on a model that is played in its own vendor's protocol. */
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { AgentName } from "@drover/contract";
import { ACP_AGENTS } from "../../../worker/src/agents/acp/acp-agents.ts";
import { createAcp } from "../../../worker/src/agents/acp/acp.ts";
import type { Move, RuntimeSubject } from "../conformance/agent-runtime/plan.ts";
import { ensureAgent } from "../ensure-agent.ts";
import type { MovedSession } from "./moved-session.ts";
import { startScriptedModel } from "../model/scripted-model.ts";
import type { ModelTurn, ScriptedTool } from "../model/turn.ts";

interface AcpSubject {
  readonly name: AgentName;
  readonly model: string;
  /** How its tools for commands and for files are called. */
  readonly run: (command: string) => ScriptedTool;
  readonly write: (path: string, content: string) => ScriptedTool;
  /** It asks before it runs a command, where it is told to. */
  readonly permissions: boolean;
  readonly isTaken?: RuntimeSubject["isTaken"];
  readonly deviations?: RuntimeSubject["deviations"];
}

function toModelTurn({ run, write }: AcpSubject, move: Move, cwd: string): ModelTurn {
  if ("say" in move) return { text: move.say, ...(move.holdLast === undefined ? {} : { holdLast: move.holdLast }) };
  if ("think" in move) return { thinking: move.think, text: "Well." };
  if ("hang" in move) return { text: move.hang, end: "hang" };
  if ("fail" in move)
    return {
      error: { status: 400, body: { error: { type: "invalid_request_error", code: 400, message: move.fail } } },
    };
  if ("write" in move) return { tools: [write(`${cwd}/${move.write.path}`, move.write.content)] };
  return { tools: [{ ...run(move.run), ...(move.id === undefined ? {} : { id: move.id }) }] };
}

function toSubject(given: AcpSubject): RuntimeSubject {
  const agent = ACP_AGENTS.find(({ name }) => name === given.name);
  if (agent === undefined) throw new Error(`there is no ACP agent ${given.name}`);
  return {
    name: given.name,
    runtime: createAcp(agent),
    traits: { model: true, permissions: given.permissions, process: true },
    ...(given.isTaken === undefined ? {} : { isTaken: given.isTaken }),
    ...(given.deviations === undefined ? {} : { deviations: given.deviations }),
    async prepare({ first, later = [] }, cwd) {
      const turns = [...first, ...later].map((move) => toModelTurn(given, move, cwd));
      const failing = turns.find(({ error }) => error !== undefined);
      const model = await startScriptedModel({ script: failing === undefined ? turns : () => failing });
      return {
        order: { agentHome: await ensureAgent(given.name), bridgeUrl: model.url, model: given.model },
        model,
        close: async () => model[Symbol.asyncDispose](),
      };
    },
  };
}

const toPatch = (path: string, content: string) =>
  `*** Begin Patch\n*** Add File: ${path}\n${content
    .split("\n")
    .slice(0, -1)
    .map((line) => `+${line}\n`)
    .join("")}*** End Patch`;

const SUBJECTS: readonly AcpSubject[] = [
  {
    name: "codex",
    model: "gpt-5.5",
    run: (cmd) => ({ name: "exec_command", input: { cmd } }),
    write: (path, content) => ({ name: "apply_patch", input: toPatch(path, content), isCustom: true }),
    permissions: false,
    deviations: [
      {
        promise: "the agent's process dies in a tool: the tool that ran is told as ended, in error",
        reason: "the process dies before its adapter has told of the call",
      },
      {
        promise: "the agent's process dies in a tool: its death is told",
        reason: "what dies is a process of its adapter, which lives on and refuses the prompt",
      },
    ],
  },
  {
    name: "gemini",
    model: "gemini-2.5-pro",
    run: (command) => ({ name: "run_shell_command", input: { command } }),
    write: (file_path, content) => ({ name: "write_file", input: { file_path, content } }),
    permissions: true,
    deviations: [
      {
        promise: "a run with two tools and a word: tools really run, in the working directory",
        reason: "they do, but over ACP it does not tell what a command printed",
      },
    ],
  },
  {
    name: "opencode",
    model: "gpt-5.5",
    run: (command) => ({ name: "bash", input: { command, description: "a command" } }),
    // For models of this name it offers no other tool that writes.
    write: (path, content) => ({ name: "apply_patch", input: { patchText: toPatch(path, content) } }),
    permissions: true,
    // A second prompt is stored, and every step of its loop reads what is stored: it is in the next request if that was in time.
    isTaken: async (home, content) => {
      const folder = join(home, ".local/share/opencode");
      const files = (await readdir(folder)).filter((name) => name.startsWith("opencode.db"));
      const texts = await Promise.all(files.map((name) => readFile(join(folder, name))));
      return texts.some((bytes) => bytes.includes(content));
    },
  },
  {
    name: "claude-acp",
    model: "claude-sonnet-4-5",
    run: (command) => ({ name: "Bash", input: { command, description: "a command" } }),
    write: (file_path, content) => ({ name: "Write", input: { file_path, content } }),
    permissions: true,
    deviations: [
      {
        promise: "the agent's process dies in a tool: its death is told",
        reason: "what dies is a process of its adapter, which lives on and refuses the prompt",
      },
    ],
  },
];

function find(name: AgentName): AcpSubject {
  const found = SUBJECTS.find((subject) => subject.name === name);
  if (found === undefined) throw new Error(`there is no subject ${name}`);
  return found;
}

export const getAcpSubject = (name: AgentName): RuntimeSubject => toSubject(find(name));

/** The same agent, in sandboxes. */
export function getMovedSession(runtime: AgentName): MovedSession {
  const how = toSubject(find(runtime)).runtime.capabilities.resume;
  if (how === "fresh") throw new Error(`${runtime} begins afresh in another sandbox`);
  return { runtime, run: find(runtime).run, how };
}
