/** A turn as OpenAI chat completions say it. */
import { type Frame, type Speaker, type Spoken, type SpokenTurn, toPieces } from "./turn.ts";

/** What ends a stream, as plain text. */
const DONE = "[DONE]";

export function speakChat(turn: SpokenTurn, { model, newId }: Speaker): Spoken {
  const id = newId("chatcmpl");
  const created = 1_700_000_000;
  const { input, output, cacheRead, cacheWrite } = turn.usage;
  const prompt_tokens = input + cacheRead + cacheWrite;
  const usage = {
    prompt_tokens,
    completion_tokens: output,
    total_tokens: prompt_tokens + output,
    prompt_tokens_details: { cached_tokens: cacheRead },
  };
  const calls = turn.tools.map((tool) => ({
    id: tool.id,
    type: "function",
    function: { name: tool.name, arguments: JSON.stringify(tool.input) },
  }));
  const finish_reason = calls.length > 0 ? "tool_calls" : "stop";
  /** Who asks for usage is told it last, and null before. */
  const chunk = (choices: readonly object[], told: object | null = null): Frame => ({
    data: { id, object: "chat.completion.chunk", created, model, choices, usage: told },
  });
  const delta = (value: object, reason: string | null = null) =>
    chunk([{ index: 0, delta: value, finish_reason: reason }]);
  return {
    whole: {
      id,
      object: "chat.completion",
      created,
      model,
      choices: [
        {
          index: 0,
          message: {
            role: "assistant",
            content: turn.text ?? null,
            ...(calls.length === 0 ? {} : { tool_calls: calls }),
          },
          finish_reason,
        },
      ],
      usage,
    },
    content: [
      delta({ role: "assistant", content: "" }),
      ...(turn.thinking === undefined ? [] : [delta({ reasoning_content: turn.thinking })]),
      ...toPieces(turn.text ?? "").map((content) => delta({ content })),
      ...calls.flatMap((call, index) => [
        delta({ tool_calls: [{ index, ...call, function: { name: call.function.name, arguments: "" } }] }),
        delta({ tool_calls: [{ index, function: { arguments: call.function.arguments } }] }),
      ]),
    ],
    ending: [delta({}, finish_reason), chunk([], usage), { data: DONE }],
  };
}
