/** What an OpenHands agent server says, read leniently from its published schema: it grows with every release. */
import { z } from "zod";

const maybe = <T extends z.ZodType>(schema: T) =>
  schema
    .nullish()
    .catch(undefined)
    .transform((value) => value ?? undefined)
    .optional();

const Text = maybe(z.string());
const Contents = maybe(z.array(z.looseObject({ type: Text, text: Text })));

/** One event of the conversation's log; `kind` says which fields it has. */
export const OpenHandsEvent = z.looseObject({
  id: z.string().min(1).max(200),
  kind: z.string().max(200),
  source: Text,
  llm_message: maybe(z.looseObject({ role: Text, content: Contents, reasoning_content: Text })),
  thought: maybe(z.union([z.string(), z.array(z.looseObject({ text: Text }))])),
  reasoning_content: Text,
  action: maybe(z.looseObject({ kind: Text, message: Text, thought: Text })),
  tool_name: Text,
  tool_call_id: Text,
  tool_call: maybe(z.looseObject({ arguments: Text })),
  action_id: Text,
  observation: maybe(
    z.looseObject({
      content: Contents,
      output: Text,
      error: Text,
      is_error: maybe(z.boolean()),
      exit_code: maybe(z.number()),
    }),
  ),
  error: Text,
  rejection_reason: Text,
  code: Text,
  detail: Text,
  key: Text,
  value: z.unknown().optional(),
});
export type OpenHandsEvent = z.infer<typeof OpenHandsEvent>;

/** The frames of `/sockets/session/{id}`. Types that we do not know are passed over. */
export const SessionFrame = z.looseObject({
  type: z.string(),
  seq: maybe(z.int().nonnegative()),
  event: maybe(OpenHandsEvent),
  code: Text,
  detail: Text,
});

export const ConversationInfo = z.looseObject({
  id: Text,
  /** As the first servers called it. */
  conversation_id: Text,
  execution_status: Text,
});

/** Costs of each use of a model, as `stats` of the conversation's state has them. */
const Stats = z.looseObject({
  usage_to_metrics: z.record(
    z.string(),
    z.looseObject({
      accumulated_cost: maybe(z.number()),
      accumulated_token_usage: maybe(
        z.looseObject({
          prompt_tokens: maybe(z.number()),
          completion_tokens: maybe(z.number()),
          cache_read_tokens: maybe(z.number()),
          cache_write_tokens: maybe(z.number()),
        }),
      ),
    }),
  ),
});

export const FullState = z.looseObject({ execution_status: Text, stats: maybe(Stats) });

export interface Spent {
  readonly costUsd: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cacheReadTokens: number;
  readonly cacheWriteTokens: number;
}

export function toSpent(stats: unknown): Spent | undefined {
  const parsed = Stats.safeParse(stats);
  if (!parsed.success) return undefined;
  const uses = Object.values(parsed.data.usage_to_metrics);
  const sum = (pick: (use: (typeof uses)[number]) => number | undefined) =>
    uses.reduce((total, use) => total + (pick(use) ?? 0), 0);
  return {
    costUsd: sum((use) => use.accumulated_cost),
    inputTokens: sum((use) => use.accumulated_token_usage?.prompt_tokens),
    outputTokens: sum((use) => use.accumulated_token_usage?.completion_tokens),
    cacheReadTokens: sum((use) => use.accumulated_token_usage?.cache_read_tokens),
    cacheWriteTokens: sum((use) => use.accumulated_token_usage?.cache_write_tokens),
  };
}
