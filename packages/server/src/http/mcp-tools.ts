/** What a program may ask for over MCP: each tool is one or two endpoints, called with the credential of whoever asks. */
import { setTimeout } from "node:timers/promises";
import {
  api,
  AppError,
  EventQuery,
  MergeRequest,
  NewMessage,
  NewSandbox,
  NewTask,
  NewTicket,
  Provider,
  SandboxId,
  TERMINAL_SANDBOX_STATES,
  type EndpointName,
  type ReplyParsed,
  type SandboxState,
  type Verb,
  type Api,
} from "@drover/contract";
import { z } from "zod";
import type { Deps } from "../app/deps.ts";

/** Path parameters, query and body of one call. */
export interface Asked {
  readonly params?: Readonly<Record<string, unknown>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: unknown;
  readonly key?: string | undefined;
}

/** Calls an endpoint as the person who asks; a refusal is thrown. */
export type CallAs = <Name extends EndpointName>(name: Name, asked: Asked) => Promise<ReplyParsed<Api[Name]>>;

interface Means {
  readonly deps: Deps;
  readonly call: CallAs;
  /** Aborts when the caller hangs up or the server stops. */
  readonly signal: AbortSignal;
}

export interface Tool {
  readonly name: string;
  readonly description: string;
  /** The right without which it is not offered; the endpoints decide again. */
  readonly verb: Verb;
  /** It ends or changes what cannot be brought back. */
  readonly isDestructive?: true;
  readonly input: z.ZodObject;
  readonly run: (means: Means, given: unknown) => Promise<unknown>;
}

const tool = <const I extends z.ZodObject>(definition: {
  readonly name: string;
  readonly description: string;
  readonly verb: Verb;
  readonly isDestructive?: true;
  readonly input: I;
  readonly run: (means: Means, input: z.infer<I>) => Promise<unknown>;
}): Tool => ({ ...definition, run: (means, given) => definition.run(means, given as z.infer<I>) });

const sandboxRef = { sandbox_id: SandboxId };
const retryKey = {
  idempotency_key: z.string().min(1).max(200).optional().describe("The same key again creates nothing new."),
};
const EVENTS_SHOWN = 50;
const EDITS_READ = 200;
/** A model's context is small: what would fill it is left out, and said so. */
const DIFF_CHARACTERS = 100_000;
const WAIT_SECONDS = 25;
const AT_REST: ReadonlySet<SandboxState> = new Set([...TERMINAL_SANDBOX_STATES, "completed", "paused"]);

/** Whichever comes first: something happened in the sandbox, or the time is over. */
async function untilEvent(deps: Deps, id: SandboxId, signal: AbortSignal): Promise<void> {
  const heard = Promise.withResolvers<void>();
  const end = deps.tail.onAdvance((events) => {
    if (events.some(({ sandboxId }) => sandboxId === id)) heard.resolve();
  });
  // Between asking and listening something may have happened: one second at most is lost by it.
  const late = setTimeout(1_000, undefined, { signal }).catch(() => undefined);
  try {
    await Promise.race([heard.promise, late]);
  } finally {
    end();
  }
}

/** Every edit of a run in order, as patches. */
async function readEdits({ call }: Means, sandbox_id: SandboxId, after_seq: number | undefined) {
  const query = { event_type: "agent.file_edited", order: "asc", limit: EDITS_READ, after_seq };
  const page = await call("listSandboxEvents", { params: { sandbox_id }, query });
  const edits: { event_id: string; seq: number; file_path: string; change_type: string; diff: string | null }[] = [];
  let room = DIFF_CHARACTERS;
  for (const { id, seq } of page.events) {
    const { file_path, change_type, diff } = await call("getFileDiff", { params: { sandbox_id, event_id: id } });
    room -= diff.length;
    edits.push({ event_id: id, seq, file_path, change_type, diff: room < 0 ? null : diff });
  }
  return {
    edits,
    total_count: page.total_count,
    note: "In order of seq. A diff of null was left out for its size: read it by its event_id. More: after_seq.",
  };
}

export const TOOLS: readonly Tool[] = [
  tool({
    name: "spawn_sandbox",
    description:
      "Start a sandbox in which an agent works on a prompt. Returns the sandbox with its id at once; wait_for_sandbox tells when it is done.",
    verb: "operate",
    input: NewSandbox.pick({
      project_id: true,
      prompt: true,
      runtime: true,
      model: true,
      repo: true,
      base_branch: true,
      network: true,
      permission_mode: true,
      resources: true,
      labels: true,
      budget_usd: true,
      timeout_s: true,
      resume_from: true,
      script: true,
    }).extend({ provider: Provider.exclude(["external"]).optional(), continuous: z.boolean().optional(), ...retryKey }),
    run: ({ call }, { idempotency_key: key, ...body }) => call("createSandbox", { body, key }),
  }),
  tool({
    name: "list_sandboxes",
    description: "List sandboxes, newest first.",
    verb: "read",
    input: api.listSandboxes.query.extend({
      status: z
        .array(api.listSandboxes.reply.shape.items.element.shape.state)
        .optional()
        .describe("Only those in one of these states."),
      limit: z.int().min(1).max(100).default(20),
    }),
    run: ({ call }, query) => call("listSandboxes", { query }),
  }),
  tool({
    name: "get_sandbox",
    description: "The status of one sandbox: state and its cause, health, branch, pull request, tokens and cost.",
    verb: "read",
    input: z.strictObject(sandboxRef),
    run: ({ call }, params) => call("getSandbox", { params }),
  }),
  tool({
    name: "wait_for_sandbox",
    description:
      "Wait until a sandbox is done, has failed, was ended or stands paused, then return it as it is. is_at_rest false: it goes on; call again.",
    verb: "read",
    input: z.strictObject({ ...sandboxRef, timeout_s: z.int().min(1).max(50).default(WAIT_SECONDS) }),
    run: async ({ deps, call, signal }, { sandbox_id, timeout_s }) => {
      const over = AbortSignal.any([signal, AbortSignal.timeout(timeout_s * 1_000)]);
      for (;;) {
        const sandbox = await call("getSandbox", { params: { sandbox_id } });
        const is_at_rest = AT_REST.has(sandbox.state);
        if (is_at_rest || over.aborted) return { is_at_rest, sandbox };
        await untilEvent(deps, sandbox_id, over);
      }
    },
  }),
  tool({
    name: "stop_sandbox",
    description: "End a sandbox whose work is not wanted any more. Its log and its branch are kept.",
    verb: "operate",
    isDestructive: true,
    input: z.strictObject(sandboxRef),
    run: ({ call }, params) => call("cancelSandbox", { params }),
  }),
  tool({
    name: "read_events",
    description:
      "What happened in a sandbox: events with their data. Newest first; with after_seq oldest first, so that the last seq you saw is where you go on.",
    verb: "read",
    input: EventQuery.omit({ offset: true }).extend({
      ...sandboxRef,
      event_type: z.array(z.string().min(1).max(100)).optional().describe("Only these types, as agent.message."),
      limit: z.int().min(1).max(500).default(EVENTS_SHOWN),
      after_seq: z.int().nonnegative().optional(),
      before_seq: z.int().nonnegative().optional(),
    }),
    run: ({ call }, { sandbox_id, ...query }) => call("listSandboxEvents", { params: { sandbox_id }, query }),
  }),
  tool({
    name: "send_message",
    description:
      "Say something to the agent of a sandbox while it works: it reads it with its next step. message_type interrupt stops what it does.",
    verb: "operate",
    input: z.strictObject({
      ...sandboxRef,
      content: NewMessage.shape.content,
      message_type: z.enum(["user_message", "interrupt"]).default("user_message"),
      ...retryKey,
    }),
    run: ({ call }, { sandbox_id, idempotency_key: key, ...body }) =>
      call("sendMessage", { params: { sandbox_id }, body, key }),
  }),
  tool({
    name: "read_diff",
    description:
      "What was changed: of a pull request (pull_id) as one diff, or in a sandbox (sandbox_id) every edit in order, or one edit (with event_id).",
    verb: "read",
    input: z.strictObject({
      pull_id: api.getPull.params.shape.pull_id.optional(),
      sandbox_id: SandboxId.optional(),
      event_id: api.getFileDiff.params.shape.event_id.optional(),
      after_seq: z.int().nonnegative().optional(),
    }),
    run: async (means, { pull_id, sandbox_id, event_id, after_seq }) => {
      if (pull_id !== undefined && sandbox_id === undefined) return means.call("getPull", { params: { pull_id } });
      if (sandbox_id === undefined || pull_id !== undefined)
        throw new AppError("request.invalid", "name either a pull_id or a sandbox_id");
      if (event_id === undefined) return readEdits(means, sandbox_id, after_seq);
      return means.call("getFileDiff", { params: { sandbox_id, event_id } });
    },
  }),
  tool({
    name: "list_projects",
    description: "List the projects this credential may see.",
    verb: "read",
    input: z.strictObject({ limit: z.int().min(1).max(100).default(20), cursor: z.string().optional() }),
    run: ({ call }, query) => call("listProjects", { query }),
  }),
  tool({
    name: "create_ticket",
    description: "Create a ticket: what a person wants done in a project. Its tasks are made with create_task.",
    verb: "operate",
    input: NewTicket.pick({
      title: true,
      description: true,
      project_id: true,
      priority: true,
      ticket_type: true,
      force_create: true,
      workflow_mode: true,
    }).extend(retryKey),
    run: ({ call }, { idempotency_key: key, ...body }) => call("createTicket", { body, key }),
  }),
  tool({
    name: "get_ticket",
    description: "One ticket: its state, whether it is blocked or waits for approval, and how far its tasks are.",
    verb: "read",
    input: z.strictObject({ ticket_id: api.getTicket.params.shape.ticket_id }),
    run: async ({ call }, params) => ({
      ticket: await call("getTicket", { params }),
      progress: await call("getTicketProgress", { params }),
    }),
  }),
  tool({
    name: "create_task",
    description:
      "Create a task of a ticket. It runs by itself in a sandbox of its own when the tasks it depends on are done and the project runs autonomously.",
    verb: "operate",
    input: NewTask.pick({
      ticket_id: true,
      title: true,
      description: true,
      priority: true,
      task_type: true,
      owned_files: true,
      dependencies: true,
      max_retries: true,
      timeout_seconds: true,
      execution_config: true,
    }).extend(retryKey),
    run: ({ call }, { idempotency_key: key, ...body }) => call("createTask", { body, key }),
  }),
  tool({
    name: "list_tasks",
    description: "List tasks, newest first, with their states and sandboxes.",
    verb: "read",
    input: api.listTasks.query.pick({ ticket_id: true, project_id: true, q: true, cursor: true }).extend({
      status: z.array(api.listTasks.reply.shape.items.element.shape.status).optional(),
      limit: z.int().min(1).max(100).default(20),
    }),
    run: ({ call }, query) => call("listTasks", { query }),
  }),
  tool({
    name: "list_pulls",
    description: "List pull requests, newest first.",
    verb: "read",
    input: api.listPulls.query.extend({ limit: z.int().min(1).max(100).default(20) }),
    run: ({ call }, query) => call("listPulls", { query }),
  }),
  tool({
    name: "merge_pull",
    description:
      "Merge a pull request, never by force; its ticket is closed. A conflict is refused and changes nothing.",
    verb: "operate",
    isDestructive: true,
    input: MergeRequest.extend({ pull_id: api.mergePull.params.shape.pull_id }),
    run: ({ call }, { pull_id, ...body }) => call("mergePull", { params: { pull_id }, body }),
  }),
];
