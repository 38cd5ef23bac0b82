#!/usr/bin/env node
/**
 * A real ACP agent without a model. Its prompt is its script, a JSON list of steps; any other prompt is answered with its text.
 * It waits for files, for steering and for cancellation, never for time.
 */
import { agent, methods, ndJsonStream, PROTOCOL_VERSION, RequestError } from "@agentclientprotocol/sdk/unstable";
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, watch, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Readable, Writable } from "node:stream";
import { z } from "zod";

const Step = z.union([
  z.strictObject({ say: z.string() }),
  z.strictObject({ think: z.string() }),
  /** Any `session/update`. */
  z.strictObject({ update: z.looseObject({ sessionUpdate: z.string() }) }),
  /** Writes a file; with `ask` only when it is allowed to. */
  z.strictObject({ edit: z.strictObject({ path: z.string(), content: z.string(), ask: z.boolean().default(false) }) }),
  /** A tool that goes on until the file is there, or until it is cancelled. */
  z.strictObject({ hold: z.string() }),
  /** A command of a shell, for which it asks. */
  z.strictObject({ run: z.string(), id: z.string().optional() }),
  /** Says what was steered into this turn. */
  z.strictObject({ tell_steered: z.literal(true) }),
  /** Says how many prompts this session had before. */
  z.strictObject({ tell_memory: z.literal(true) }),
  z.strictObject({ question: z.string() }),
  /** Bytes as they are, in base64, on standard output. */
  z.strictObject({ raw: z.string() }),
  z.strictObject({ huge: z.int() }),
  z.strictObject({ complain: z.string() }),
  z.strictObject({ crash: z.union([z.int(), z.literal("SIGKILL")]) }),
  z.strictObject({ deaf: z.literal(true) }),
  /** A process that sleeps so many seconds, and that it does not care for. */
  z.strictObject({ leave_behind: z.string() }),
  z.strictObject({ refuse: z.string() }),
  z.strictObject({ stop: z.enum(["end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"]) }),
]);
type Step = z.infer<typeof Step>;

interface Session {
  readonly cwd: string;
  readonly steered: string[];
  prompts: number;
  /** How much of the plan is played. */
  planned: number;
  unfinished: string | undefined;
  running: number;
  isCancelled: boolean;
  isDeaf: boolean;
  onCancel: () => void;
}

/** What it does when its prompts are no scripts: each prompt plays on, up to the next word. */
const PLAN = z.array(Step).parse(JSON.parse(process.env["SCRIPTED_PLAN"] ?? "[]"));

/** How it takes messages into a running turn: `extension`, `fold` or `none`. */
const STEER = process.env["SCRIPTED_STEER"] ?? "extension";
/** Written when a message has arrived, for tests that must not go on before. */
const STEERED_FILE = process.env["SCRIPTED_STEERED_FILE"];
const MEMORY = join(process.env["HOME"] ?? "/tmp", ".scripted-acp");
const sessions = new Map<string, Session>();

const memoryOf = (id: string) => join(MEMORY, `${id}.json`);
/** `unfinished` is the prompt that was being played: one that dies goes on with it when it is asked to. */
function remember(id: string, { prompts, planned, unfinished }: Session): void {
  mkdirSync(MEMORY, { recursive: true });
  writeFileSync(memoryOf(id), JSON.stringify({ prompts, planned, unfinished }));
}
function open(id: string, cwd: string, { prompts = 0, planned = 0, unfinished }: Partial<Session> = {}): void {
  sessions.set(id, {
    cwd,
    steered: [],
    prompts,
    planned,
    unfinished,
    running: 0,
    isCancelled: false,
    isDeaf: false,
    onCancel: () => undefined,
  });
}
function reopen(id: string, cwd: string): void {
  if (!existsSync(memoryOf(id))) throw RequestError.invalidParams({ sessionId: id });
  const kept = z
    .object({ prompts: z.number(), planned: z.number(), unfinished: z.string().optional() })
    .parse(JSON.parse(readFileSync(memoryOf(id), "utf8")));
  open(id, cwd, { ...kept, unfinished: kept.unfinished });
}
function find(id: string): Session {
  const session = sessions.get(id);
  if (session === undefined) throw RequestError.invalidParams({ sessionId: id });
  return session;
}

/** The plan from where it was left; what is begun counts as played. */
function* playOn(id: string, session: Session): Generator<Step> {
  for (let step = PLAN[session.planned]; step !== undefined; step = PLAN[session.planned]) {
    session.planned += 1;
    remember(id, session);
    yield step;
    if ("say" in step) return;
  }
}

function noteSteered(session: Session, text: string): void {
  session.steered.push(text);
  if (STEERED_FILE !== undefined) writeFileSync(STEERED_FILE, text);
}

function parseScript(text: string): readonly Step[] {
  if (!text.startsWith("[")) return [{ say: `You said: ${text}` }];
  return z.array(Step).parse(JSON.parse(text));
}

/** Resolves when the file is there or the turn is cancelled. */
function waitForFile(path: string, session: Session): Promise<void> {
  return new Promise((resolve) => {
    mkdirSync(dirname(path), { recursive: true });
    const watcher = watch(dirname(path), () => check());
    const check = () => {
      if (!existsSync(path) && (session.isDeaf || !session.isCancelled)) return;
      watcher.close();
      resolve();
    };
    session.onCancel = check;
    check();
  });
}

type Update = Readonly<Record<string, unknown>> & { readonly sessionUpdate: string };

interface Stage {
  readonly session: Session;
  readonly update: (update: Update) => Promise<void>;
  readonly request: (method: string, params: Readonly<Record<string, unknown>>) => Promise<unknown>;
}

const text = (value: string) => ({ type: "text", text: value });
const say = (stage: Stage, value: string) =>
  stage.update({ sessionUpdate: "agent_message_chunk", content: text(value) });

async function edit(stage: Stage, step: Extract<Step, { edit: unknown }>["edit"]): Promise<void> {
  const path = join(stage.session.cwd, step.path);
  const toolCallId = `call-${randomUUID()}`;
  const content = [{ type: "diff", path, oldText: null, newText: step.content }];
  const title = `Edit ${step.path}`;
  await stage.update({
    sessionUpdate: "tool_call",
    toolCallId,
    title,
    kind: "edit",
    status: "pending",
    content,
    rawInput: { file_path: path },
  });
  if (step.ask && !(await isAllowed(stage, { toolCallId, title, content })))
    return stage.update({ sessionUpdate: "tool_call_update", toolCallId, status: "failed" });
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, step.content);
  await stage.update({ sessionUpdate: "tool_call_update", toolCallId, status: "completed", content });
}

const OPTIONS = [
  { optionId: "no-way", name: "Reject", kind: "reject_once" },
  { optionId: "for-ever", name: "Always", kind: "allow_always" },
  { optionId: "go", name: "Allow", kind: "allow_once" },
];

async function isAllowed(stage: Stage, toolCall: Readonly<Record<string, unknown>>): Promise<boolean> {
  const { outcome } = z
    .object({ outcome: z.looseObject({ outcome: z.string(), optionId: z.string().optional() }) })
    .parse(await stage.request(methods.client.session.requestPermission, { toolCall, options: OPTIONS }));
  return outcome.optionId === "go" || outcome.optionId === "for-ever";
}

/** What it printed; its whole group ends when the turn is cancelled. */
function runShell(command: string, session: Session): Promise<{ output: string; code: number | null }> {
  return new Promise((resolve) => {
    const child = spawn("sh", ["-c", command], { cwd: session.cwd, detached: true, stdio: ["ignore", "pipe", "pipe"] });
    const chunks: Buffer[] = [];
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (bytes: Buffer) => chunks.push(bytes));
    session.onCancel = () => process.kill(-(child.pid ?? 0), "SIGKILL");
    child.once("close", (code) => {
      session.onCancel = () => undefined;
      resolve({ output: Buffer.concat(chunks).toString("utf8"), code });
    });
  });
}

async function run(stage: Stage, command: string, id: string = randomUUID()): Promise<void> {
  const toolCallId = `call-${id}`;
  const call = { toolCallId, title: command.slice(0, 200), kind: "execute", rawInput: { command } };
  await stage.update({ sessionUpdate: "tool_call", status: "pending", ...call });
  if (!(await isAllowed(stage, { toolCallId, title: call.title })))
    return stage.update({ sessionUpdate: "tool_call_update", toolCallId, status: "failed" });
  await stage.update({ sessionUpdate: "tool_call_update", toolCallId, status: "in_progress" });
  const { output, code } = await runShell(command, stage.session);
  if (stage.session.isCancelled) return;
  const content = [{ type: "content", content: text(output) }];
  await stage.update({
    sessionUpdate: "tool_call_update",
    toolCallId,
    status: code === 0 ? "completed" : "failed",
    content,
  });
}

async function hold(stage: Stage, name: string): Promise<void> {
  const toolCallId = `call-${randomUUID()}`;
  await stage.update({
    sessionUpdate: "tool_call",
    toolCallId,
    title: `wait for ${name}`,
    kind: "execute",
    status: "in_progress",
    rawInput: { command: `wait for ${name}` },
  });
  await waitForFile(join(stage.session.cwd, name), stage.session);
  if (stage.session.isCancelled) return;
  await stage.update({
    sessionUpdate: "tool_call_update",
    toolCallId,
    status: "completed",
    content: [{ type: "content", content: text(`${name} is there`) }],
  });
}

function leaveBehind(seconds: string): void {
  const child = spawn("sleep", [seconds], { detached: true, stdio: ["ignore", "inherit", "ignore"] });
  child.unref();
}

/** The reason to stop with, when the step says one. */
async function play(stage: Stage, step: Step): Promise<string | undefined> {
  if ("say" in step) await say(stage, step.say);
  else if ("think" in step) await stage.update({ sessionUpdate: "agent_thought_chunk", content: text(step.think) });
  else if ("update" in step) await stage.update(step.update as Update);
  else if ("edit" in step) await edit(stage, step.edit);
  else if ("hold" in step) await hold(stage, step.hold);
  else if ("run" in step) await run(stage, step.run, step.id);
  else if ("tell_steered" in step) await say(stage, `Steered: ${stage.session.steered.join("; ")}`);
  else if ("tell_memory" in step) await say(stage, `Prompts before: ${stage.session.prompts - 1}`);
  else if ("question" in step) {
    const answer = await stage.request("elicitation/create", {
      mode: "form",
      message: step.question,
      requestedSchema: { type: "object", properties: { answer: { type: "string" } } },
    });
    await say(stage, `Answer: ${JSON.stringify(answer)}`);
  } else if ("raw" in step) process.stdout.write(Buffer.from(step.raw, "base64"));
  else if ("huge" in step) await say(stage, "x".repeat(step.huge));
  else if ("complain" in step) process.stderr.write(`${step.complain}\n`);
  else if ("crash" in step) {
    if (typeof step.crash === "number") process.exit(step.crash);
    process.kill(process.pid, step.crash);
  } else if ("deaf" in step) stage.session.isDeaf = true;
  else if ("leave_behind" in step) leaveBehind(step.leave_behind);
  else if ("refuse" in step) throw RequestError.internalError(undefined, step.refuse);
  else return step.stop;
  return undefined;
}

const STEERING = { steering: { supported: STEER === "extension" } };

agent({ name: "scripted-acp" })
  .onRequest(methods.agent.initialize, () => ({
    protocolVersion: PROTOCOL_VERSION,
    agentInfo: { name: "scripted-acp", version: "1" },
    agentCapabilities: { loadSession: true, promptCapabilities: { embeddedContext: true } },
    authMethods: [],
    _meta: STEERING,
  }))
  .onRequest(methods.agent.session.new, ({ params }) => {
    const sessionId = randomUUID();
    open(sessionId, params.cwd);
    return { sessionId };
  })
  .onRequest(methods.agent.session.load, async ({ params, client }) => {
    reopen(params.sessionId, params.cwd);
    const update = {
      sessionUpdate: "agent_message_chunk" as const,
      content: { type: "text" as const, text: "replayed" },
    };
    await client.notify(methods.client.session.update, { sessionId: params.sessionId, update });
    return {};
  })
  .onRequest(
    "_session/steering",
    (params) => z.object({ sessionId: z.string(), prompt: z.array(z.looseObject({ text: z.string() })) }).parse(params),
    ({ params }) => {
      if (STEER !== "extension") throw RequestError.methodNotFound("_session/steering");
      const session = find(params.sessionId);
      if (session.running === 0) return { outcome: "promptRequired" };
      noteSteered(session, params.prompt[0]?.text ?? "");
      return { outcome: "injected" };
    },
  )
  .onRequest(methods.agent.session.prompt, async ({ params, client }) => {
    const session = find(params.sessionId);
    const [block] = params.prompt;
    const given = block?.type === "text" ? block.text : "";
    const prompt = given.startsWith("[") ? given : (session.unfinished ?? given);
    if (session.running > 0 && STEER === "fold") {
      noteSteered(session, given);
      return { stopReason: "end_turn" as const };
    }
    session.isCancelled = false;
    session.isDeaf = false;
    session.running += 1;
    session.prompts += 1;
    session.unfinished = prompt;
    remember(params.sessionId, session);
    const stage: Stage = {
      session,
      update: (update) =>
        client.notify(methods.client.session.update, { sessionId: params.sessionId, update: update as never }),
      request: (method, more) => client.request(method, { sessionId: params.sessionId, ...more } as never),
    };
    try {
      for (const step of PLAN.length > 0 ? playOn(params.sessionId, session) : parseScript(prompt)) {
        const reason = await play(stage, step);
        if (session.isCancelled && !session.isDeaf) return { stopReason: "cancelled" as const };
        if (reason !== undefined) return { stopReason: reason as "end_turn" };
      }
    } finally {
      session.running -= 1;
      session.unfinished = undefined;
      remember(params.sessionId, session);
    }
    const cost = { amount: 0.001, currency: "USD" };
    await stage.update({ sessionUpdate: "usage_update", used: 120, size: 1_000, cost });
    return { stopReason: "end_turn" as const, usage: { inputTokens: 100, outputTokens: 20, totalTokens: 120 } };
  })
  .onNotification(methods.agent.session.cancel, ({ params }) => {
    const session = sessions.get(params.sessionId);
    if (session === undefined) return;
    session.isCancelled = true;
    session.onCancel();
  })
  .connect(ndJsonStream(Writable.toWeb(process.stdout) as never, Readable.toWeb(process.stdin) as never));
