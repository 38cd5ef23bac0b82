/** A turn as Gemini says it. */
import { type Speaker, type Spoken, type SpokenTurn, toPieces } from "./turn.ts";

export function speakGemini(turn: SpokenTurn, { model, newId }: Speaker): Spoken {
  const { input, output, cacheRead, cacheWrite } = turn.usage;
  const promptTokenCount = input + cacheRead + cacheWrite;
  const usageMetadata = {
    promptTokenCount,
    candidatesTokenCount: output,
    totalTokenCount: promptTokenCount + output,
    ...(cacheRead === 0 ? {} : { cachedContentTokenCount: cacheRead }),
  };
  const responseId = newId("gemini");
  const thoughts = turn.thinking === undefined ? [] : [{ text: turn.thinking, thought: true }];
  const calls = turn.tools.map((tool) => ({
    functionCall: { id: tool.id, name: tool.name, args: tool.input },
    thoughtSignature: "c2lnbmVk",
  }));
  const say = (parts: readonly object[], finishReason?: string) => ({
    candidates: [
      { content: { role: "model", parts }, ...(finishReason === undefined ? {} : { finishReason }), index: 0 },
    ],
    usageMetadata,
    modelVersion: model,
    responseId,
  });
  return {
    whole: say([...thoughts, ...(turn.text === undefined ? [] : [{ text: turn.text }]), ...calls], "STOP"),
    content: [...thoughts, ...toPieces(turn.text ?? "").map((text) => ({ text })), ...calls].map((part) => ({
      data: say([part]),
    })),
    ending: [{ data: say([{ text: "" }], "STOP") }],
  };
}
