/** What a scripted agent plays: a list of steps, as YAML or JSON. */
import { AppError } from "@drover/contract";
import { parse as parseYaml } from "yaml";
import { z } from "zod";

const Text = z.string().max(200_000);
const Seconds = z.number().nonnegative().max(86_400);
const ToolInput = z.record(z.string(), z.json());

const Edit = z
  .strictObject({
    path: z.string().min(1).max(1_000),
    /** The whole new content. */
    content: z.string().max(10_000_000).optional(),
    /** Or: put `replace` in the place of the first `find`. */
    find: z.string().min(1).optional(),
    replace: z.string().optional(),
    delete: z.literal(true).optional(),
    /** The new path; may go with `content` or `find`. */
    rename: z.string().min(1).max(1_000).optional(),
    executable: z.boolean().optional(),
  })
  .refine(
    (edit) => [edit.content, edit.find, edit.delete, edit.rename].some((way) => way !== undefined),
    "needs content, find, delete or rename",
  )
  .refine((edit) => (edit.find === undefined) === (edit.replace === undefined), "find and replace go together")
  .refine(
    (edit) => edit.delete === undefined || (edit.content ?? edit.find ?? edit.rename) === undefined,
    "delete stands alone",
  )
  .refine((edit) => edit.content === undefined || edit.find === undefined, "content and find exclude each other");
export type Edit = z.infer<typeof Edit>;

const Command = z.strictObject({
  argv: z.array(z.string()).min(1).max(200),
  timeout: Seconds.optional(),
  /** The work ends as failed unless it succeeds. */
  required: z.literal(true).optional(),
});
export type Command = z.infer<typeof Command>;

const ToolUse = z.strictObject({
  name: z.string().min(1).max(200),
  input: ToolInput.default({}),
  result: Text.default(""),
  seconds: Seconds.default(0),
  is_error: z.boolean().default(false),
});
export type ToolUse = z.infer<typeof ToolUse>;

const Todo = z.strictObject({
  content: z.string().min(1),
  status: z.enum(["pending", "in_progress", "completed"]).default("pending"),
});

const Permission = z.strictObject({
  tool: z.string().min(1),
  input: ToolInput.default({}),
  /** How long to wait for a message that says yes or no. */
  seconds: Seconds.default(60),
  otherwise: z.enum(["allow", "deny"]).default("deny"),
});
export type Permission = z.infer<typeof Permission>;

const PLAIN_STEPS = [
  z.strictObject({ text: Text }),
  z.strictObject({ thinking: Text }),
  z.strictObject({ tool_use: ToolUse }),
  z.strictObject({ edit: Edit }),
  z.strictObject({ command: Command }),
  z.strictObject({ todo: z.array(Todo).min(1).max(100) }),
  z.strictObject({ wait: Seconds }),
  z.strictObject({
    wait_for_message: z.strictObject({ seconds: Seconds.default(300), text: Text.default("Waiting for a message.") }),
  }),
  /** When denied, the next step is left out. */
  z.strictObject({ permission: Permission }),
  /** Something went wrong and the work goes on. */
  z.strictObject({ error: Text }),
  /** The work ends as failed. */
  z.strictObject({ fail: Text }),
  /** The worker kills itself, as an out-of-memory killer would. */
  z.strictObject({ crash: z.literal(true) }),
  /** The turn is over and the next begins. */
  z.strictObject({ turn: z.literal("next") }),
] as const;

export type PlainStep = z.infer<(typeof PLAIN_STEPS)[number]>;
export type Step = PlainStep | { repeat: { times: number; steps: Step[] } };

export const Step: z.ZodType<Step> = z.lazy(() =>
  z.union([
    ...PLAIN_STEPS,
    z.strictObject({
      repeat: z.strictObject({ times: z.int().nonnegative().max(10_000_000), steps: z.array(Step).max(1_000) }),
    }),
  ]),
);

const Answer = z.strictObject({
  /** Answers messages that contain this, in any case; without it, every message. */
  when: z.string().min(1).optional(),
  steps: z.array(Step).min(1),
});

export const Script = z.strictObject({
  name: z.string().min(1).max(200).default("script"),
  steps: z.array(Step).max(10_000),
  /** The first that fits plays when a message arrives; `{{message}}` is its text. */
  on_message: z.array(Answer).default([{ steps: [{ text: "Understood: {{message}}" }] }]),
});
export type Script = z.infer<typeof Script>;

export function parseScript(source: unknown): Script {
  const parsed = Script.safeParse(source);
  if (parsed.success) return parsed.data;
  throw new AppError("config.invalid", `the script is not valid: ${z.prettifyError(parsed.error)}`);
}

/** JSON is YAML, so one parser reads both. */
export const parseScriptText = (text: string): Script => parseScript(parseYaml(text));
