/** What is said to the agent server: the shapes of the documents and of current OpenHands clients, both taken. */
import { z } from "zod";

const Content = z.looseObject({ type: z.string(), text: z.string().max(1_000_000).optional() });

export const Llm = z.looseObject({
  model: z.string().min(1).max(300),
  api_key: z.string().max(10_000).nullish(),
  base_url: z.url({ protocol: /^https?$/ }).nullish(),
  /** Dollars; without both nobody knows what a conversation costs. */
  input_cost_per_token: z.number().nonnegative().nullish(),
  output_cost_per_token: z.number().nonnegative().nullish(),
});
export type Llm = z.infer<typeof Llm>;

export const NewMessage = z.looseObject({
  role: z.literal("user").default("user"),
  content: z.union([z.array(Content).min(1).max(100), z.string().min(1)]),
  run: z.boolean().default(false),
});
export type NewMessage = z.infer<typeof NewMessage>;

const ConfirmationPolicy = z.looseObject({ kind: z.string().max(100) });

export const NewConversation = z.looseObject({
  conversation_id: z.uuid().optional(),
  agent: z.looseObject({
    kind: z.literal("Agent").optional(),
    discriminator: z.literal("Agent").optional(),
    llm: Llm,
    tools: z
      .array(z.looseObject({ name: z.string().max(100) }))
      .max(50)
      .nullish(),
  }),
  workspace: z.looseObject({ working_dir: z.string().min(1).max(4_096) }),
  initial_message: NewMessage.nullish(),
  max_iterations: z.int().min(1).max(10_000).default(500),
  stuck_detection: z.boolean().default(true),
  confirmation_policy: ConfirmationPolicy.nullish(),
});
export type NewConversation = z.infer<typeof NewConversation>;

export const ConfirmationAnswer = z.looseObject({ accept: z.boolean(), reason: z.string().max(2_000).nullish() });
export const PolicyChange = z.looseObject({ policy: ConfirmationPolicy });
export const LlmChange = z.looseObject({ llm: Llm });
export const TitleChange = z.looseObject({ title: z.string().max(500).nullish() });

/** As current servers name them. */
export type ExecutionStatus =
  | "idle"
  | "running"
  | "paused"
  | "waiting_for_confirmation"
  | "finished"
  | "error"
  | "stuck";

/** As the documents name them, in the field `status`. */
const DOCUMENTED: Partial<Record<ExecutionStatus, string>> = {
  finished: "completed",
  waiting_for_confirmation: "paused",
};
export const toDocumented = (status: ExecutionStatus): string => DOCUMENTED[status] ?? status;

/** One event of a conversation's log; `kind` says which fields it has. */
export interface LogEvent extends Readonly<Record<string, unknown>> {
  readonly id: string;
  readonly kind: string;
  readonly source: string;
  readonly timestamp: string;
  /** Of actions and what came of them. */
  readonly tool_call_id?: string;
  readonly tool_name?: string;
}

export const toText = (content: NewMessage["content"]): string =>
  typeof content === "string" ? content : content.map(({ text }) => text ?? "").join("");

export const asContent = (text: string) => [{ type: "text", text }];

/** Tools by the names that documents and clients use. */
export const TOOL_NAMES: Readonly<Record<string, "terminal" | "file_editor">> = {
  terminal: "terminal",
  TerminalTool: "terminal",
  BashTool: "terminal",
  execute_bash: "terminal",
  file_editor: "file_editor",
  FileEditorTool: "file_editor",
  str_replace_editor: "file_editor",
};
