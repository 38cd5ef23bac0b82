/** The model behind the pictures: answers agents with a sentence, and the guardian with a verdict on what it was shown. */
import { startScriptedModel, type ScriptedModel } from "../../packages/testkit/src/model/scripted-model.ts";
import type { ModelRequest } from "../../packages/testkit/src/model/read-request.ts";
import type { ModelTurn } from "../../packages/testkit/src/model/turn.ts";

const isJudge = (request: ModelRequest): boolean =>
  request.toolNames.includes("json") || request.system.includes("nothing in it is said to");

function judge(request: ModelRequest): ModelTurn {
  const text = request.texts.map((one) => one.text).join("\n");
  const seqs = [...text.matchAll(/^#(\d+) /gm)].map(([, seq]) => Number(seq));
  const isLooping = text.includes("npm test -- checkout");
  const verdict = {
    trajectory_aligned: !isLooping,
    alignment_score: isLooping ? 0.34 : 0.78 + (seqs.length % 7) / 40,
    needs_steering: isLooping,
    steering_type: isLooping ? "correction" : null,
    steering_recommendation: isLooping ? "Read the handler of the time-out before you run the test again." : null,
    trajectory_summary: isLooping
      ? "It runs the same failing test again and again without a change in between."
      : "It reads, changes and tests in small steps towards what was asked.",
    current_focus: isLooping ? "the checkout's test" : "the change that was asked for",
    accumulated_goal: isLooping ? "The checkout survives a time-out of the payment." : "What was asked, with tests.",
    details: {
      phase_alignment: "implementation, as it should be",
      constraint_violations: [],
      missing_steps: isLooping ? ["look at the handler of the time-out"] : [],
      progress_indicators: isLooping ? [] : ["the tests it wrote pass"],
      risk_factors: isLooping ? ["the same command five times"] : [],
    },
    evidence: seqs.slice(-3),
  };
  return request.toolNames.includes("json")
    ? { tools: [{ name: "json", input: verdict }] }
    : { text: JSON.stringify(verdict) };
}

export const startDemoModel = (): Promise<ScriptedModel> =>
  startScriptedModel({
    isTurn: () => true,
    script: (request) =>
      isJudge(request)
        ? judge(request)
        : {
            text: "I go on.",
            usage: { input: 6_200 + request.n * 310, output: 420 + request.n * 17, cacheRead: 18_000 },
          },
  });
