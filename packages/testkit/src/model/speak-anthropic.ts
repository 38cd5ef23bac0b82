/** A turn as Anthropic Messages say it. */
import { type Frame, type Speaker, type Spoken, type SpokenTurn, toPieces } from "./turn.ts";

type Block =
  | { type: "thinking"; thinking: string; signature: string }
  | { type: "text"; text: string }
  | { type: "tool_use"; id: string; name: string; input: unknown };

const toBlocks = (turn: SpokenTurn): readonly Block[] => [
  ...(turn.thinking === undefined
    ? []
    : [{ type: "thinking" as const, thinking: turn.thinking, signature: "c2lnbmVk" }]),
  ...(turn.text === undefined ? [] : [{ type: "text" as const, text: turn.text }]),
  ...turn.tools.map(({ id, name, input }) => ({ type: "tool_use" as const, id, name, input })),
];

/** How a block begins, before its first delta. */
function toEmpty(block: Block) {
  if (block.type === "thinking") return { type: "thinking", thinking: "", signature: "" };
  return block.type === "text" ? { type: "text", text: "" } : { ...block, input: {} };
}

function toDeltas(block: Block): readonly object[] {
  if (block.type === "text") return toPieces(block.text).map((text) => ({ type: "text_delta", text }));
  if (block.type === "tool_use")
    return toPieces(JSON.stringify(block.input)).map((partial_json) => ({ type: "input_json_delta", partial_json }));
  return [
    ...toPieces(block.thinking).map((thinking) => ({ type: "thinking_delta", thinking })),
    { type: "signature_delta", signature: block.signature },
  ];
}

const frame = (type: string, data: object): Frame => ({ name: type, data: { type, ...data } });

export function speakAnthropic(turn: SpokenTurn, { model, newId }: Speaker): Spoken {
  const content = toBlocks(turn);
  const stop_reason = turn.tools.length > 0 ? "tool_use" : "end_turn";
  const usage = {
    input_tokens: turn.usage.input,
    cache_creation_input_tokens: turn.usage.cacheWrite,
    cache_read_input_tokens: turn.usage.cacheRead,
    output_tokens: turn.usage.output,
  };
  const message = { id: newId("msg"), type: "message", role: "assistant", model, stop_sequence: null };
  return {
    whole: { ...message, content, stop_reason, usage },
    content: [
      frame("message_start", {
        message: { ...message, content: [], stop_reason: null, usage: { ...usage, output_tokens: 1 } },
      }),
      ...content.flatMap((block, index) => [
        frame("content_block_start", { index, content_block: toEmpty(block) }),
        ...toDeltas(block).map((delta) => frame("content_block_delta", { index, delta })),
        frame("content_block_stop", { index }),
      ]),
    ],
    ending: [
      frame("message_delta", {
        delta: { stop_reason, stop_sequence: null },
        usage: { output_tokens: turn.usage.output },
      }),
      frame("message_stop", {}),
    ],
  };
}
