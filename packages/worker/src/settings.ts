/** What the environment says. Three variables are needed; the others win over the assignment. */
import {
  AGENTS_INSIDE,
  AppError,
  type ContinuousOptions,
  type Evidence,
  PermissionMode,
  SandboxId,
} from "@drover/contract";
import { homedir } from "node:os";
import { join } from "node:path";
import { z } from "zod";

export type Environment = Readonly<Record<string, string | undefined>>;

const Seconds = z.coerce.number().positive().max(86_400);
const Text = z.string().min(1);
const Names = Text.transform((text) => text.split(",").flatMap((name) => name.trim() || []));
/** As JSON: no shell and no quoting stands between. */
const Argv = Text.transform((text, context) => {
  try {
    return z.array(Text).min(1).parse(JSON.parse(text));
  } catch {
    context.addIssue({ code: "custom", message: "is not a JSON list of words" });
    return z.NEVER;
  }
});
const Flag = Text.transform((text) => /^(1|true|yes|on)$/i.test(text));

const Variables = z.object({
  SANDBOX_ID: SandboxId,
  CALLBACK_URL: Text,
  SANDBOX_TOKEN: Text,
  TASK_DATA_BASE64: Text.optional(),
  TASK_DESCRIPTION: Text.optional(),
  INITIAL_PROMPT: Text.optional(),
  TICKET_TITLE: Text.optional(),
  TICKET_DESCRIPTION: Text.optional(),
  MODEL: Text.optional(),
  ANTHROPIC_MODEL: Text.optional(),
  BRANCH_NAME: Text.optional(),
  CWD: Text.optional(),
  WORKSPACE_PATH: Text.optional(),
  SCRIPT_FILE: Text.optional(),
  STATE_DIR: Text.optional(),
  POLL_INTERVAL: Seconds.default(0.5),
  HEARTBEAT_INTERVAL: Seconds.optional(),
  POST_COMPLETION_SECONDS: Seconds.optional(),
  PERMISSION_MODE: PermissionMode.optional(),
  MAX_TURNS: z.coerce.number().int().positive().optional(),
  MAX_BUDGET_USD: z.coerce.number().nonnegative().optional(),
  ALLOWED_TOOLS: Names.optional(),
  DISALLOWED_TOOLS: Names.optional(),
  ENABLE_SKILLS: Flag.optional(),
  ENABLE_SUBAGENTS: Flag.optional(),
  ENABLE_ASK_USER_QUESTION: Flag.optional(),
  SETTING_SOURCES: Names.pipe(z.array(z.enum(["user", "project", "local"]))).optional(),
  MCP_SERVER_URL: z.url({ protocol: /^https?$/ }).optional(),
  EXECUTION_MODE: z.enum(["exploration", "implementation", "validation"]).optional(),
  CONTINUOUS_MODE: Flag.optional(),
  MAX_ITERATIONS: z.coerce.number().int().positive().optional(),
  MAX_TOTAL_COST_USD: z.coerce.number().positive().optional(),
  MAX_DURATION_SECONDS: z.coerce.number().int().positive().optional(),
  MAX_CONSECUTIVE_ERRORS: z.coerce.number().int().positive().optional(),
  REQUIRE_CLEAN_GIT: Flag.optional(),
  REQUIRE_CODE_PUSHED: Flag.optional(),
  REQUIRE_PR_CREATED: Flag.optional(),
  REQUIRE_TESTS: Flag.optional(),
  COMPLETION_SIGNAL: z.string().trim().min(1).max(200).optional(),
  COMPLETION_THRESHOLD: z.coerce.number().int().positive().max(100).optional(),
  NOTES_FILE: Text.optional(),
  SYSTEM_PROMPT: Text.optional(),
  SYSTEM_PROMPT_APPEND: Text.optional(),
  CONVERSATION_CONTEXT: Text.optional(),
  RESUME_SESSION_ID: Text.optional(),
  SESSION_TRANSCRIPT_B64: z.base64().optional(),
  AGENT_COMMAND: Argv.optional(),
  AGENTS_DIR: Text.default(AGENTS_INSIDE),
  IS_SANDBOX: Flag.optional(),
});

const SPECIFICATIONS = "phases of a specification are tickets and tasks of the server (drover ticket create)";
/** What other workers are told and this one cannot do: not silently left out, but refused with what to do instead. */
const REFUSED: Readonly<Record<string, string>> = {
  SPEC_ID: SPECIFICATIONS,
  SPEC_PHASE: SPECIFICATIONS,
  SPEC_TITLE: SPECIFICATIONS,
  SPEC_DESCRIPTION: SPECIFICATIONS,
  PHASE_DATA_B64: SPECIFICATIONS,
  PHASE_CONTEXT_B64: SPECIFICATIONS,
  REPORTER_MODE: SPECIFICATIONS,
  REQUIRE_SPEC_SKILL: "the files of a specification are not looked at; name a test_command that does",
  PREVIEW_ENABLED: "a preview is opened at the server (drover preview)",
};
const isOff = (text: string): boolean => /^(0|false|no|off)$/i.test(text);

const Words = z.string().nullish();
const TaskData = z.looseObject({
  task: z.looseObject({ description: Words }).nullish(),
  ticket: z.looseObject({ title: Words, description: Words }).nullish(),
  /** What a reviewer said of the try before. */
  revision: z.looseObject({ feedback: Words, recommendations: z.union([Words, z.array(z.string())]) }).nullish(),
  /** All of it once more, written out for the agent. */
  _markdown_context: Words,
  /** The older, flat shape. */
  task_description: Words,
});
type TaskData = z.infer<typeof TaskData>;

export interface Settings {
  readonly sandboxId: SandboxId;
  readonly callbackUrl: string;
  readonly token: string;
  readonly prompt: string | undefined;
  /** Of the ticket, where neither we nor the server are told what to do. */
  readonly ticketPrompt: string | undefined;
  readonly ticketTitle: string | undefined;
  readonly model: string | undefined;
  readonly branch: string | undefined;
  readonly cwd: string;
  readonly scriptFile: string | undefined;
  /** The worker's own directory; one per sandbox, so that a copied one never continues another's journal. */
  readonly stateDir: string;
  readonly pollMs: number;
  readonly heartbeatSeconds: number | undefined;
  readonly postCompletionSeconds: number | undefined;
  readonly permissionMode: PermissionMode | undefined;
  readonly maxTurns: number | undefined;
  readonly maxBudgetUsd: number | undefined;
  readonly allowedTools: readonly string[] | undefined;
  readonly disallowedTools: readonly string[] | undefined;
  readonly skills: boolean | undefined;
  readonly subagents: boolean | undefined;
  readonly questions: boolean | undefined;
  readonly settingSources: readonly string[] | undefined;
  /** An MCP server that the agent gets beside those of the assignment. */
  readonly mcpServerUrl: string | undefined;
  readonly executionMode: "exploration" | "implementation" | "validation" | undefined;
  readonly continuous: boolean | undefined;
  /** Limits of work in iterations, and the phrase with which the agent says that it is done. */
  readonly limits: Partial<ContinuousOptions>;
  /** Evidence that is asked for, or not, whatever the assignment says. */
  readonly required: ReadonlyMap<Evidence, boolean>;
  /** Where what was found after each iteration is noted; below the agent's own directory unless absolute. */
  readonly notesFile: string | undefined;
  readonly systemPrompt: string | undefined;
  readonly systemPromptAppend: string | undefined;
  readonly resumeSessionId: string | undefined;
  /** What the agent remembers of that session, as the file in which it keeps it. */
  readonly sessionTranscript: Buffer | undefined;
  readonly agentCommand: readonly string[] | undefined;
  /** Where agent packages are mounted. */
  readonly agentsDir: string;
  readonly isIsolated: boolean;
}

function parseTaskData(text: string | undefined): TaskData {
  if (text === undefined) return {};
  try {
    return TaskData.parse(JSON.parse(Buffer.from(text, "base64").toString("utf8")));
  } catch (cause) {
    throw new AppError("config.invalid", "TASK_DATA_BASE64 is not base64 of the task's JSON", { cause });
  }
}

const joinTexts = (...texts: readonly (string | undefined)[]): string | undefined =>
  texts.filter((text) => text !== undefined).join("\n\n") || undefined;

function toTaskPrompt({ task, task_description: flat, revision }: TaskData): string | undefined {
  const description = task?.description ?? flat ?? undefined;
  const said = [revision?.feedback, revision?.recommendations].flat().filter((part) => typeof part === "string");
  if (description === undefined || said.length === 0) return description;
  return joinTexts(description, `A reviewer sent this back:\n${said.join("\n")}`);
}

function toTicketPrompt(title: string | undefined, description: string | undefined): string | undefined {
  return description ?? (title === undefined ? undefined : `Analyze ticket: ${title}`);
}

function toRequired(set: z.infer<typeof Variables>): ReadonlyMap<Evidence, boolean> {
  const wanted: readonly (readonly [Evidence, boolean | undefined])[] = [
    ["clean", set.REQUIRE_CLEAN_GIT],
    // The server opens the pull request, from what was pushed: that much can be looked at here.
    ["pushed", set.REQUIRE_PR_CREATED === true ? true : set.REQUIRE_CODE_PUSHED],
    ["tests", set.REQUIRE_TESTS],
  ];
  return new Map(wanted.flatMap(([one, isWanted]) => (isWanted === undefined ? [] : [[one, isWanted] as const])));
}

/** Empty variables count as unset. */
export function parseSettings(env: Environment, cwd: string): Settings {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== ""));
  const refused = Object.entries(REFUSED).filter(([name]) => !isOff(given[name] ?? "off"));
  if (refused.length > 0)
    throw new AppError("config.invalid", refused.map(([name, instead]) => `${name}: ${instead}`).join("; "));
  const parsed = Variables.safeParse(given);
  if (!parsed.success) {
    const faults = parsed.error.issues.map((issue) => {
      const name = String(issue.path[0]);
      return given[name] === undefined ? `${name} is not set` : `${name} is not valid`;
    });
    throw new AppError("config.invalid", faults.join(", "));
  }
  const set = parsed.data;
  const task = parseTaskData(set.TASK_DATA_BASE64);
  const title = task.ticket?.title ?? set.TICKET_TITLE;
  return {
    sandboxId: set.SANDBOX_ID,
    callbackUrl: set.CALLBACK_URL,
    token: set.SANDBOX_TOKEN,
    prompt: toTaskPrompt(task) ?? set.TASK_DESCRIPTION ?? set.INITIAL_PROMPT,
    ticketTitle: title ?? undefined,
    ticketPrompt: toTicketPrompt(title, task.ticket?.description ?? set.TICKET_DESCRIPTION),
    model: set.MODEL ?? set.ANTHROPIC_MODEL,
    branch: set.BRANCH_NAME,
    cwd: set.CWD ?? set.WORKSPACE_PATH ?? cwd,
    scriptFile: set.SCRIPT_FILE,
    stateDir: join(set.STATE_DIR ?? join(homedir(), ".drover-worker"), set.SANDBOX_ID),
    pollMs: set.POLL_INTERVAL * 1_000,
    heartbeatSeconds: set.HEARTBEAT_INTERVAL,
    postCompletionSeconds: set.POST_COMPLETION_SECONDS,
    permissionMode: set.PERMISSION_MODE,
    maxTurns: set.MAX_TURNS,
    maxBudgetUsd: set.MAX_BUDGET_USD,
    allowedTools: set.ALLOWED_TOOLS,
    disallowedTools: set.DISALLOWED_TOOLS,
    skills: set.ENABLE_SKILLS,
    subagents: set.ENABLE_SUBAGENTS,
    questions: set.ENABLE_ASK_USER_QUESTION,
    settingSources: set.SETTING_SOURCES,
    mcpServerUrl: set.MCP_SERVER_URL,
    executionMode: set.EXECUTION_MODE,
    continuous: set.CONTINUOUS_MODE,
    limits: {
      ...(set.MAX_ITERATIONS === undefined ? {} : { max_iterations: set.MAX_ITERATIONS }),
      ...(set.MAX_TOTAL_COST_USD === undefined ? {} : { max_cost_usd: set.MAX_TOTAL_COST_USD }),
      ...(set.MAX_DURATION_SECONDS === undefined ? {} : { max_duration_s: set.MAX_DURATION_SECONDS }),
      ...(set.MAX_CONSECUTIVE_ERRORS === undefined ? {} : { max_errors: set.MAX_CONSECUTIVE_ERRORS }),
      ...(set.COMPLETION_SIGNAL === undefined ? {} : { completion_signal: set.COMPLETION_SIGNAL }),
      ...(set.COMPLETION_THRESHOLD === undefined ? {} : { completion_threshold: set.COMPLETION_THRESHOLD }),
    },
    required: toRequired(set),
    notesFile: set.NOTES_FILE,
    systemPrompt: set.SYSTEM_PROMPT,
    systemPromptAppend: joinTexts(
      set.SYSTEM_PROMPT_APPEND,
      task._markdown_context ?? undefined,
      set.CONVERSATION_CONTEXT,
    ),
    resumeSessionId: set.RESUME_SESSION_ID,
    sessionTranscript:
      set.SESSION_TRANSCRIPT_B64 === undefined ? undefined : Buffer.from(set.SESSION_TRANSCRIPT_B64, "base64"),
    agentCommand: set.AGENT_COMMAND,
    agentsDir: set.AGENTS_DIR,
    isIsolated: set.IS_SANDBOX ?? false,
  };
}

const SECRETS = new Set(["SANDBOX_TOKEN"]);

/** What the agent's processes get: everything but the worker's credential, and a `node` that exists. */
export function toChildEnv(env: Environment, nodeDirectory: string): Record<string, string> {
  const kept = Object.entries(env).filter(
    (pair): pair is [string, string] => pair[1] !== undefined && !SECRETS.has(pair[0]),
  );
  const { PATH, ...rest } = Object.fromEntries(kept);
  return { ...rest, PATH: [PATH, nodeDirectory].filter((part) => part !== undefined && part !== "").join(":") };
}
