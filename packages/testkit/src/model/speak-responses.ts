/** A turn as OpenAI Responses say it. */
import { type Frame, type Speaker, type Spoken, type SpokenTurn, toPieces } from "./turn.ts";

type Tool = SpokenTurn["tools"][number];

interface Item {
  readonly type: string;
  readonly id: string;
  readonly begun: object;
  readonly done: object;
  readonly between: readonly (readonly [string, object])[];
}

function toMessage(text: string, id: string): Item {
  const part = { type: "output_text", text, annotations: [] };
  const item = { type: "message", id, role: "assistant" };
  return {
    type: "message",
    id,
    begun: { ...item, status: "in_progress", content: [] },
    done: { ...item, status: "completed", content: [part] },
    between: [
      ["response.content_part.added", { content_index: 0, part: { ...part, text: "" } }],
      ...toPieces(text).map((delta) => ["response.output_text.delta", { content_index: 0, delta }] as const),
      ["response.output_text.done", { content_index: 0, text }],
      ["response.content_part.done", { content_index: 0, part }],
    ],
  };
}

function toCall(tool: Tool, id: string): Item {
  const item = { id, call_id: tool.id, name: tool.name };
  if (tool.isCustom === true) {
    const custom = { type: "custom_tool_call", ...item };
    return {
      type: "custom_tool_call",
      id,
      begun: { ...custom, status: "in_progress", input: "" },
      done: { ...custom, status: "completed", input: tool.input },
      between: [],
    };
  }
  const args = JSON.stringify(tool.input);
  const call = { type: "function_call", ...item };
  return {
    type: "function_call",
    id,
    begun: { ...call, status: "in_progress", arguments: "" },
    done: { ...call, status: "completed", arguments: args },
    between: [
      ["response.function_call_arguments.delta", { delta: args }],
      ["response.function_call_arguments.done", { arguments: args }],
    ],
  };
}

function toReasoning(thinking: string, id: string): Item {
  const item = { type: "reasoning", id, summary: [{ type: "summary_text", text: thinking }] };
  return { type: "reasoning", id, begun: { ...item, summary: [] }, done: item, between: [] };
}

export function speakResponses(turn: SpokenTurn, { model, newId }: Speaker): Spoken {
  const items = [
    ...(turn.thinking === undefined ? [] : [toReasoning(turn.thinking, newId("rs"))]),
    ...(turn.text === undefined ? [] : [toMessage(turn.text, newId("msg"))]),
    ...turn.tools.map((tool) => toCall(tool, newId("fc"))),
  ];
  const { input, output, cacheRead, cacheWrite } = turn.usage;
  // OpenAI counts what came from the cache as input too, and bills no writes to it.
  const input_tokens = input + cacheRead + cacheWrite;
  const usage = {
    input_tokens,
    input_tokens_details: { cached_tokens: cacheRead },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: input_tokens + output,
  };
  const base = {
    id: newId("resp"),
    object: "response",
    created_at: 1_700_000_000,
    model,
    parallel_tool_calls: true,
    tool_choice: "auto",
    tools: [],
  };
  const whole = { ...base, status: "completed", output: items.map((item) => item.done), usage };
  let sequence_number = 0;
  const frame = (type: string, data: object): Frame => ({
    name: type,
    data: { type, sequence_number: sequence_number++, ...data },
  });
  return {
    whole,
    content: [
      frame("response.created", { response: { ...base, status: "in_progress", output: [], usage: null } }),
      ...items.flatMap((item, output_index) => [
        frame("response.output_item.added", { output_index, item: item.begun }),
        ...item.between.map(([type, data]) => frame(type, { output_index, item_id: item.id, ...data })),
        frame("response.output_item.done", { output_index, item: item.done }),
      ]),
    ],
    ending: [frame("response.completed", { response: whole })],
  };
}
