/** An OpenHands agent server for the suite of runtimes: one that speaks its protocol and plays the plan. */
import { createOpenHands } from "../../../worker/src/agents/openhands/openhands.ts";
import type { Move, RuntimeSubject } from "../conformance/agent-runtime/plan.ts";
import { startOpenHandsServer } from "./agent-server.ts";

const PATH = process.env["PATH"] ?? "";

const toStep = (move: Move): object => ("say" in move ? { say: move.say } : move);

export const OPENHANDS_SUBJECT: RuntimeSubject = {
  name: "openhands",
  runtime: createOpenHands(),
  traits: { model: false, permissions: true, process: false },
  async prepare({ first, later = [] }) {
    const server = await startOpenHandsServer({ plan: [...first, ...later].map(toStep) });
    return {
      order: { env: { PATH, OPENHANDS_URL: server.url } },
      close: async () => server[Symbol.asyncDispose](),
    };
  },
};
