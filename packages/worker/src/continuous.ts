/** Lets any agent work in iterations: after each one evidence is looked for, and what is missing becomes the next prompt. */
import type { ContinuousOptions, InboxMessage, Json } from "@drover/contract";
import { appendFile, mkdir, readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { z } from "zod";
import type { AgentEnd, AgentEvent, AgentRuntime, AgentSession, AgentStep, WorkOrder } from "./agent-runtime.ts";
import { type EvidenceParts, type Finding, loadHead, lookForEvidence } from "./evidence.ts";
import { type Aim, toFirstPrompt, toNextPrompt } from "./iteration-prompt.ts";

const OWN = "iteration-";
const PREVIEW = { prompt: 500, output: 1_000 };
const NOTES_CHARACTERS = 8_000;

const Loop = z.object({
  iteration: z.int(),
  successful: z.int(),
  errors: z.int(),
  costUsd: z.number(),
  startedMs: z.number(),
  startHead: z.string().optional(),
  isOver: z.boolean(),
  /** In a row, how often the agent said that it is done. */
  signals: z.int().default(0),
  /** It has said so in this iteration. */
  isSignalled: z.boolean().default(false),
  /** The next prompt, until the agent has it. */
  pending: z.string().optional(),
});
type Loop = z.infer<typeof Loop>;

/** The agent's own mark stands inside ours. */
const Marked = z.object({ loop: Loop, inner: z.custom<Json>().optional() });

type StopReason =
  | "validation_passed"
  | "max_iterations_reached"
  | "max_cost_reached"
  | "max_duration_reached"
  | "consecutive_errors"
  | "interrupted"
  | "shutdown_signal";

/** Why there is no next iteration; undefined when there is one. Pure. */
function decideStop(loop: Loop, options: ContinuousOptions, isPassed: boolean, nowMs: number) {
  if (isPassed) return "validation_passed" satisfies StopReason;
  if (loop.errors >= options.max_errors) return "consecutive_errors" satisfies StopReason;
  if (loop.successful >= options.max_iterations) return "max_iterations_reached" satisfies StopReason;
  if (loop.costUsd >= options.max_cost_usd) return "max_cost_reached" satisfies StopReason;
  if (nowMs - loop.startedMs >= options.max_duration_s * 1_000) return "max_duration_reached" satisfies StopReason;
  return undefined;
}

const toMessage = (id: string, content: string, type: "system" | "interrupt", now: Date): InboxMessage => ({
  id: id as InboxMessage["id"],
  content,
  message_type: type,
  timestamp: now.toISOString(),
  delivery: "queue",
});

const toNumber = (value: unknown) => (typeof value === "number" ? value : 0);
const toText = (value: unknown) => (typeof value === "string" ? value : "");

export interface ContinuousParts extends Omit<EvidenceParts, "cwd" | "env"> {
  readonly options: ContinuousOptions;
  /** Not in the workspace, which would never be clean. */
  readonly notesFile: string;
  /** What the models have cost by the gateway's meter: some agents count nothing, others by prices of their own. */
  readonly loadSpent: (signal: AbortSignal) => Promise<number | null>;
}

const toAim = ({ require, options }: ContinuousParts): Aim => ({ require, signal: options.completion_signal });

export function makeContinuous(runtime: AgentRuntime, parts: ContinuousParts): AgentRuntime {
  return {
    ...runtime,
    start(order, signal) {
      const marked = Marked.safeParse(order.mark).data;
      const inner = runtime.start(
        { ...order, mark: marked?.inner, prompt: toFirstPrompt(order.prompt, toAim(parts)) },
        signal,
      );
      return { ...inner, steps: iterate(inner, order, parts, marked, signal) };
    },
  };
}

async function* iterate(
  inner: AgentSession,
  order: WorkOrder,
  parts: ContinuousParts,
  marked: z.infer<typeof Marked> | undefined,
  signal: AbortSignal,
): AsyncGenerator<AgentStep, AgentEnd> {
  const { clock } = order;
  const { options, notesFile } = parts;
  const evidence = { ...parts, cwd: order.cwd, env: order.env };
  const nowMs = () => clock.now().getTime();
  let innerMark: Json | undefined = marked?.inner;
  const loop: Loop = marked?.loop ?? {
    iteration: 0,
    successful: 0,
    errors: 0,
    costUsd: 0,
    startedMs: nowMs(),
    isOver: false,
    signals: 0,
    isSignalled: false,
  };
  let turn = 1;
  let isOverdue = false;
  /** The agent itself has told the end of this turn. */
  let isTurnTold = false;

  const toMark = (): Json =>
    JSON.parse(JSON.stringify({ loop, ...(innerMark === undefined ? {} : { inner: innerMark }) })) as Json;
  const say = (type: string, data: Readonly<Record<string, unknown>>): AgentEvent => ({
    event_type: type,
    event_data: { turn, ...data },
  });
  const toState = (finding?: Finding) => ({
    iteration_num: loop.iteration,
    successful_iterations: loop.successful,
    error_count: loop.errors,
    total_cost_usd: loop.costUsd,
    completion_signal_count: loop.signals,
    elapsed_seconds: Math.round((nowMs() - loop.startedMs) / 1_000),
    last_session_id: inner.getSessionId?.() ?? null,
    validation_passed: finding?.passed ?? false,
    tests_passed: finding?.tests_passed ?? null,
    code_committed: finding?.has_commits ?? null,
    code_pushed: finding?.is_pushed ?? null,
    files_changed: finding?.files_changed ?? 0,
  });

  const begin = (prompt: string) => {
    loop.iteration += 1;
    loop.isSignalled = false;
    return say("iteration.started", { ...toState(), prompt_preview: prompt.slice(0, PREVIEW.prompt) });
  };

  const note = async (text: string) => {
    await mkdir(dirname(notesFile), { recursive: true });
    await appendFile(notesFile, `## Iteration ${loop.iteration}\n${text}\n\n`);
  };
  const loadNotes = async () => (await readFile(notesFile, "utf8").catch(() => "")).slice(-NOTES_CHARACTERS);

  const finish = (reason: StopReason, finding: Finding | undefined): AgentEvent[] => {
    loop.isOver = true;
    delete loop.pending;
    return [say("continuous.completed", { stop_reason: reason, ...toState(finding) })];
  };

  /** That the agent says so is told, and decides nothing: evidence is looked for either way. */
  const hearSignal = (): AgentEvent[] => {
    loop.signals = loop.isSignalled ? loop.signals + 1 : 0;
    const { iteration, signals } = loop;
    const told = { iteration_num: iteration, signal_count: signals, threshold: options.completion_threshold };
    return loop.isSignalled ? [say("iteration.completion_signal", told)] : [];
  };

  /** What an iteration came to, and what follows from it. */
  async function* conclude(ended: AgentEvent): AsyncGenerator<AgentStep> {
    const data = ended.event_data;
    const before = loop.costUsd;
    const byAgent = Math.max(loop.costUsd, toNumber(data["total_cost_usd"]), toNumber(data["cost_usd"]));
    loop.costUsd = (await parts.loadSpent(signal)) ?? byAgent;
    const isFailed = ended.event_type === "agent.failed";
    const signalled = isFailed ? [] : hearSignal();
    const finding = isFailed ? undefined : await lookForEvidence(evidence, loop.startHead, signal);
    const { passed = false, errors = [toText(data["error"])] } = finding ?? {};
    if (isFailed) loop.errors += 1;
    else {
      loop.errors = 0;
      loop.successful += 1;
    }
    const feedback = errors.join("\n");
    if (!passed) await note(feedback);
    const common = { iteration_num: loop.iteration };
    const told = isFailed
      ? [say("iteration.failed", { ...common, error: feedback, error_count: loop.errors })]
      : [
          ...(isTurnTold ? [] : [say("agent.turn_complete", { ...data, num_turns: toNumber(data["turns"]) })]),
          ...signalled,
          say("iteration.validation", {
            ...common,
            passed,
            feedback,
            errors,
            git_status: {
              is_clean: finding?.is_clean,
              is_pushed: finding?.is_pushed,
              has_pr: null,
              branch_name: finding?.branch_name,
            },
          }),
          say("iteration.completed", {
            ...toState(finding),
            cost_usd: Math.max(0, loop.costUsd - before),
            output_preview: toText(data["final_output"]).slice(0, PREVIEW.output),
          }),
        ];
    isTurnTold = false;
    const reason = decideStop(loop, options, passed, nowMs());
    if (reason === undefined) {
      if (loop.signals >= options.completion_threshold) loop.signals = 0;
      loop.pending = toNextPrompt(order.prompt, toAim(parts), errors, await loadNotes());
      yield { events: [...told, begin(loop.pending)], mark: toMark(), isBarrier: true };
      sendPending();
      return;
    }
    const completed = finish(reason, finding);
    const outcome = passed
      ? say("agent.completed", { ...data, success: true, ...toState(finding), stop_reason: reason })
      : say("agent.failed", { error: `the work is not done (${reason}): ${feedback}`, ...toState(finding) });
    yield { events: [...told, ...completed, outcome], mark: toMark() };
  }

  /** Who interrupted takes over; what ran out of time has failed. */
  const stop = (): AgentEvent[] => {
    if (!isOverdue) return finish("interrupted", undefined);
    const error = "the work is not done (max_duration_reached)";
    return [...finish("max_duration_reached", undefined), say("agent.failed", { error, ...toState() })];
  };

  const sendPending = () => {
    if (loop.pending === undefined) return;
    inner.send(toMessage(`${OWN}${loop.iteration}`, loop.pending, "system", clock.now()));
  };

  /** The word in what the agent itself says; a sub-agent speaks to it, not to us. */
  const hasSignal = ({ event_type, event_data: { content, parent_tool_use_id: parent } }: AgentEvent) =>
    event_type === "agent.message" && parent === undefined && toText(content).includes(options.completion_signal);

  const isOwn = (event: AgentEvent) => toText(event.event_data["message_id"]).startsWith(OWN);

  async function* translate(step: AgentStep): AsyncGenerator<AgentStep> {
    if (step.mark !== undefined) innerMark = step.mark;
    const { receipt, mark: _mark, ...rest } = step;
    const kept = receipt?.messageId.startsWith(OWN) === true ? {} : receipt === undefined ? {} : { receipt };
    const passing: AgentEvent[] = [];
    let ended: AgentEvent | undefined;
    for (const event of step.events) {
      turn = toNumber(event.event_data["turn"]) || turn;
      if (event.event_type === "agent.turn_complete") isTurnTold = true;
      if (hasSignal(event)) loop.isSignalled = true;
      if (event.event_type === "agent.message_injected" && isOwn(event)) delete loop.pending;
      else if (loop.isOver) passing.push(event);
      else if (event.event_type === "agent.completed" || event.event_type === "agent.failed") ended = event;
      else if (event.event_type === "agent.interrupted") passing.push(event, ...stop());
      else if (event.event_type !== "agent.waiting" || loop.pending === undefined) passing.push(event);
    }
    const isSaid = passing.length > 0 || step.mark !== undefined || "receipt" in kept;
    if (isSaid) yield { ...rest, ...kept, events: passing, mark: toMark() };
    if (ended !== undefined) yield* conclude(ended);
  }

  if (loop.iteration === 0) {
    const head = await loadHead(evidence);
    if (head !== undefined) loop.startHead = head;
    const limits = {
      max_iterations: options.max_iterations,
      max_cost_usd: options.max_cost_usd,
      max_duration_seconds: options.max_duration_s,
      max_consecutive_errors: options.max_errors,
    };
    const about = {
      goal: order.prompt.slice(0, PREVIEW.prompt),
      limits,
      completion_signal: options.completion_signal,
      completion_threshold: options.completion_threshold,
      validation_requirements: parts.require,
    };
    const started = { ...say("continuous.started", about), source: "worker" as const };
    yield { events: [started, begin(order.prompt)], mark: toMark() };
  } else if (!loop.isOver) sendPending();

  /** An iteration that never ends is ended: limits are not only looked at in between. */
  const watchTime = async () => {
    await clock.sleep(Math.max(0, options.max_duration_s * 1_000 - (nowMs() - loop.startedMs)), signal);
    if (signal.aborted || loop.isOver) return;
    isOverdue = true;
    inner.interrupt(toMessage(`${OWN}overdue`, "The time for this work is over.", "interrupt", clock.now()));
  };
  void watchTime();

  for (;;) {
    const next = await inner.steps.next();
    if (next.done !== true) yield* translate(next.value);
    else {
      if (!loop.isOver) yield { events: finish("shutdown_signal", undefined) };
      return next.value;
    }
  }
}
