/** Claude for the suite of runtimes: the real SDK, with a model that is played. */
import type { AgentName } from "@drover/contract";
import { createClaude } from "../../../worker/src/agents/claude/claude.ts";
import type { Move, RuntimeSubject } from "../conformance/agent-runtime/plan.ts";
import { ensureAgent } from "../ensure-agent.ts";
import { startScriptedModel } from "../model/scripted-model.ts";
import type { ModelTurn } from "../model/turn.ts";

function toModelTurn(move: Move): ModelTurn {
  if ("say" in move) return { text: move.say, ...(move.holdLast === undefined ? {} : { holdLast: move.holdLast }) };
  if ("think" in move) return { thinking: move.think, text: "Well." };
  if ("hang" in move) return { text: move.hang, end: "hang" };
  if ("fail" in move)
    return {
      error: { status: 400, body: { type: "error", error: { type: "invalid_request_error", message: move.fail } } },
    };
  if ("write" in move)
    return { tools: [{ name: "Write", input: { file_path: move.write.path, content: move.write.content } }] };
  const input = { command: move.run, description: "a command" };
  return { tools: [{ name: "Bash", input, ...(move.id === undefined ? {} : { id: move.id }) }] };
}

export const CLAUDE_SUBJECT: RuntimeSubject = {
  name: "claude" satisfies AgentName,
  runtime: createClaude(),
  traits: { model: true, permissions: true, process: true },
  async prepare({ first, later = [] }, cwd) {
    const turns = [...first, ...later].map(toModelTurn).map((turn) => ({
      ...turn,
      // It wants whole paths.
      ...(turn.tools === undefined
        ? {}
        : {
            tools: turn.tools.map((tool) =>
              tool.name === "Write"
                ? {
                    ...tool,
                    input: {
                      ...(tool.input as object),
                      file_path: `${cwd}/${(tool.input as { file_path: string }).file_path}`,
                    },
                  }
                : tool,
            ),
          }),
    }));
    const failing = turns.find(({ error }) => error !== undefined);
    const model = await startScriptedModel({ script: failing === undefined ? turns : () => failing });
    return {
      order: { agentHome: await ensureAgent("claude"), bridgeUrl: model.url, model: "claude-sonnet-4-5" },
      model,
      close: async () => model[Symbol.asyncDispose](),
    };
  },
};
