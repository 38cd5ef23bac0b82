/** An ACP agent for the suite of runtimes: a real one, which has no model and plays the plan. */
import { ACP_AGENTS } from "../../../worker/src/agents/acp/acp-agents.ts";
import { createAcp } from "../../../worker/src/agents/acp/acp.ts";
import type { Move, RuntimeSubject } from "../conformance/agent-runtime/plan.ts";

const AGENT = new URL("scripted-acp-agent.ts", import.meta.url).pathname;
const PATH = process.env["PATH"] ?? "";

function toStep(move: Move): object {
  if ("write" in move) return { edit: move.write };
  if ("fail" in move) return { refuse: move.fail };
  if ("say" in move) return { say: move.say };
  return move;
}

const plain = ACP_AGENTS.find(({ name }) => name === "acp");
if (plain === undefined) throw new Error("there is no plain ACP agent");

export const ACP_SUBJECT: RuntimeSubject = {
  name: "acp",
  // This one takes messages into its turn, by the extension that says so.
  runtime: createAcp({ ...plain, capabilities: { ...plain.capabilities, steer: "extension" } }),
  traits: { model: false, permissions: true, process: true },
  async prepare({ first, later = [] }) {
    const SCRIPTED_PLAN = JSON.stringify([...first, ...later].map(toStep));
    return {
      order: { command: [process.execPath, AGENT], env: { PATH, SCRIPTED_PLAN } },
      close: () => Promise.resolve(),
    };
  },
};
