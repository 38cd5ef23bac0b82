/** The scripted agent keeps the port's promises. */
import type { JsonObject } from "@drover/contract";
import { describeAgentRuntime } from "../../../testkit/src/conformance/agent-runtime.ts";
import type { Move } from "../../../testkit/src/conformance/agent-runtime/plan.ts";
import { createScripted } from "./scripted.ts";

function toStep(move: Move): JsonObject {
  if ("say" in move) return { text: move.say };
  if ("think" in move) return { thinking: move.think };
  if ("run" in move) return { command: { argv: ["sh", "-c", move.run] } };
  if ("write" in move) return { edit: { path: move.write.path, content: move.write.content } };
  return "fail" in move ? { fail: move.fail } : { wait: 3_600 };
}

describeAgentRuntime({
  name: "scripted",
  runtime: createScripted(),
  traits: { model: false, permissions: false, process: false },
  prepare: async ({ first, later = [{ say: "Yes." }] }) => ({
    order: {
      script: { steps: first.map(toStep), on_message: [{ steps: later.map(toStep) }] },
    },
    close: async () => undefined,
  }),
});
