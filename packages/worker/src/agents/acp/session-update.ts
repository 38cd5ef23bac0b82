/** What an ACP agent says of itself, read leniently: agents differ, and the protocol grows. */
import { z } from "zod";

/** Absent, null and wrong mean the same: it was not told. */
const maybe = <T extends z.ZodType>(schema: T) =>
  schema
    .nullish()
    .catch(undefined)
    .transform((value) => value ?? undefined)
    .optional();

const Text = maybe(z.string());
const Loose = z.record(z.string(), z.unknown());

export const ContentBlock = z.looseObject({
  type: z.string(),
  text: Text,
  uri: Text,
  name: Text,
  mimeType: Text,
  resource: maybe(z.looseObject({ uri: Text, text: Text })),
});
export type ContentBlock = z.infer<typeof ContentBlock>;

const ToolContent = z.looseObject({
  type: z.string(),
  content: maybe(ContentBlock),
  path: Text,
  oldText: Text,
  newText: Text,
  terminalId: Text,
});
export type ToolContent = z.infer<typeof ToolContent>;

export const ToolCall = z.looseObject({
  toolCallId: z.string().min(1).max(1_000),
  title: Text,
  name: Text,
  kind: Text,
  status: Text,
  content: maybe(z.array(ToolContent)),
  locations: maybe(z.array(z.looseObject({ path: z.string() }))),
  rawInput: z.unknown().optional(),
  rawOutput: z.unknown().optional(),
  _meta: maybe(Loose),
});
export type ToolCall = z.infer<typeof ToolCall>;

const PlanEntry = z.looseObject({
  content: z.string(),
  status: z.enum(["pending", "in_progress", "completed"]).catch("pending"),
});

export const Plan = z.looseObject({ entries: z.array(PlanEntry) });

/** The wrapped form of newer agents. */
export const PlanUpdate = z.looseObject({ plan: Plan });

export const Chunk = z.looseObject({ content: ContentBlock });

export const UsageUpdate = z.looseObject({
  used: maybe(z.number()),
  size: maybe(z.number()),
  cost: maybe(z.looseObject({ amount: z.number(), currency: z.string() })),
});

export const SessionNotification = z.looseObject({
  sessionId: z.string(),
  update: z.looseObject({ sessionUpdate: z.string().max(100) }),
});
export type SessionUpdate = z.infer<typeof SessionNotification>["update"];

export const PermissionRequest = z.looseObject({
  sessionId: z.string(),
  toolCall: ToolCall,
  options: z.array(
    z.looseObject({
      optionId: z.string().min(1).max(200),
      name: z.string().max(500).catch(""),
      kind: z.enum(["allow_once", "allow_always", "reject_once", "reject_always"]).catch("reject_once"),
    }),
  ),
});

export const Initialized = z.looseObject({
  protocolVersion: z.number(),
  agentCapabilities: maybe(
    z.looseObject({
      loadSession: maybe(z.boolean()),
      sessionCapabilities: maybe(z.looseObject({ resume: maybe(z.looseObject({})) })),
      mcpCapabilities: maybe(z.looseObject({ http: maybe(z.boolean()), sse: maybe(z.boolean()) })),
    }),
  ),
  _meta: maybe(z.looseObject({ steering: maybe(z.looseObject({ supported: maybe(z.boolean()) })) })),
});
export type Initialized = z.infer<typeof Initialized>;

export const OpenedSession = z.looseObject({
  sessionId: maybe(z.string().min(1).max(500)),
  modes: maybe(z.looseObject({ availableModes: z.array(z.looseObject({ id: z.string() })) })),
});

const Tokens = maybe(z.number().nonnegative());

export const PromptResult = z.looseObject({
  stopReason: z.string().max(100),
  usage: maybe(
    z.looseObject({
      inputTokens: Tokens,
      outputTokens: Tokens,
      cachedReadTokens: Tokens,
      cachedWriteTokens: Tokens,
    }),
  ),
});

export const SteeringResult = z.looseObject({ outcome: z.string() });

export const Elicitation = z.looseObject({ message: z.string().catch("") });
