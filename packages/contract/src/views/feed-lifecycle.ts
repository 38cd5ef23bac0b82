/** How a run begins, moves and ends: each event type as one sentence. */
import type { JsonObject } from "../json.ts";
import { toCause } from "./cause.ts";
import type { FeedDraft } from "./feed-draft.ts";
import { toRowStart } from "./feed-draft.ts";
import { ITERATION_SENTENCES } from "./feed-iterations.ts";
import type { Tone } from "./feed-row.ts";
import { count, join, type Sentence } from "./feed-sentence.ts";
import type { LogEvent } from "./log-event.ts";
import { readNumber, readText } from "./log-event.ts";

const COMMIT_CHARACTERS = 10;

const TONE_OF_STATE: Readonly<Record<string, Tone>> = {
  running: "busy",
  completing: "busy",
  completed: "good",
  failed: "bad",
  cancelled: "warn",
  terminated: "warn",
  paused: "warn",
};

/** A cause of ours in words, else whatever was said. */
const toWhy = (cause: string | null, reason: string | null): string | null =>
  cause === null ? reason : toCause(cause);

/** How a turn ends that nothing ended early. */
const USUAL_STOP = "end_turn";

/** What a worker says with each of them tells nothing that the title does not. */
const WAITS = /^waiting for (?:a )?messages?\.?$/i;

const toStop = (data: JsonObject): string | null => {
  const stop = readText(data, "stop_reason");
  return stop === USUAL_STOP ? null : stop;
};

const toStateSentence = (data: JsonObject): Sentence => {
  const to = readText(data, "to", "state", "new_state") ?? "unknown";
  return {
    title: `Sandbox is ${to}`,
    detail: toWhy(readText(data, "cause", "state_cause"), readText(data, "reason")),
    tone: TONE_OF_STATE[to] ?? "quiet",
  };
};

const STEPS: Readonly<Record<string, string>> = {
  environment: "Sandbox made",
  repository: "Repository checked out",
  worker: "Worker started",
};

const toSpan = (ms: number | null): string | null => {
  if (ms === null) return null;
  return ms < 1_000 ? `${ms} ms` : `${(ms / 1_000).toFixed(1)} s`;
};

const toProvisioningSentence = (data: JsonObject): Sentence => {
  const step = readText(data, "step") ?? "step";
  const status = readText(data, "status");
  const took = toSpan(readNumber(data, "duration_ms"));
  if (status === "failed")
    return { title: `Provisioning failed: ${step}`, detail: join(readText(data, "error"), took), tone: "bad" };
  const title = status === "done" ? STEPS[step] : undefined;
  return { title: title ?? `Provisioning: ${step}`, detail: title === undefined ? join(status, took) : took };
};

const toUsd = (data: JsonObject, key: string): string => {
  const usd = readNumber(data, key) ?? 0;
  return `$${usd.toFixed(usd < 1 ? 4 : 2)}`;
};

/** What is spent of the limit, and whose it is. */
const toStanding = (data: JsonObject): string | null =>
  join(
    `${toUsd(data, "spent_usd")} of ${toUsd(data, "limit_usd")} of this ${readText(data, "scope_type") ?? "budget"}`,
  );

const toWarningSentence = (data: JsonObject): Sentence => ({
  title: "Most of a budget is used",
  detail: toStanding(data),
  tone: "warn",
});

const toExceededSentence = (data: JsonObject): Sentence => ({
  title: "A budget is used up",
  detail: join(
    toStanding(data),
    readNumber(data, "estimate_usd") !== null && `the next call is expected to cost ${toUsd(data, "estimate_usd")}`,
    readText(data, "question"),
  ),
  tone: "bad",
});

const SENTENCES: Readonly<Record<string, (data: JsonObject) => Sentence>> = {
  ...ITERATION_SENTENCES,
  SPAWNED: (data) => ({
    title: "Sandbox created",
    detail: join(readText(data, "provider"), readText(data, "runtime")),
  }),
  STATE_CHANGED: toStateSentence,
  TERMINATED: (data) => ({
    title: "Sandbox terminated",
    detail: toWhy(readText(data, "cause"), readText(data, "reason")),
    tone: "warn",
  }),
  TERMINATED_IDLE: (data) => ({ title: "Terminated for idling", detail: readText(data, "reason"), tone: "warn" }),
  WORKER_REPLACED: (data) => ({
    title: `Worker replaced, generation ${readNumber(data, "generation") ?? "?"}`,
    tone: "warn",
  }),
  "sandbox.provisioning": toProvisioningSentence,
  "sandbox.log_kept": (data) => ({
    title: "Worker's log kept",
    detail: readNumber(data, "size") === null ? null : count(readNumber(data, "size") ?? 0, "byte"),
  }),
  "sandbox.egress": (data) => {
    const isAllowed = readText(data, "decision") === "allowed";
    return {
      title: isAllowed ? "Way out allowed" : "Way out refused",
      detail: join(
        `${readText(data, "host") ?? "?"}:${readNumber(data, "port") ?? "?"}`,
        readText(data, "reason"),
        (readNumber(data, "count") ?? 1) > 1 && `${readNumber(data, "count")} times`,
      ),
      ...(isAllowed ? {} : { tone: "warn" as const }),
    };
  },
  "terminal.recorded": (data) => ({
    title: "Terminal closed",
    detail: join(
      toSpan(readNumber(data, "duration_ms")),
      data["is_truncated"] === true ? "recorded in part" : "recorded",
    ),
  }),
  "sandbox.tail_lost": (data) => ({
    title: "The end of this run was lost",
    detail: readText(data, "reason", "detail"),
    tone: "bad",
  }),
  "agent.started": (data) => ({
    title: data["is_resuming"] === true ? "Agent resumed" : "Agent started",
    detail: join(readText(data, "sdk", "runtime"), readText(data, "model"), readText(data, "restored", "resume")),
    tone: "busy",
  }),
  "agent.resumed": (data) => ({
    title: "Session resumed",
    detail: join(readText(data, "how"), readText(data, "reason")),
    tone: "busy",
  }),
  "workspace.unwatched": (data) => ({
    title: "Changes are not tracked here",
    detail: readText(data, "reason"),
    tone: "warn",
  }),
  "git.pushed": (data) => ({
    title: readText(data, "to_commit") === null ? "Branch removed" : "Pushed",
    detail: join(readText(data, "branch"), readText(data, "to_commit")?.slice(0, COMMIT_CHARACTERS)),
    tone: "good",
  }),
  "budget.warning": toWarningSentence,
  "cost.budget.warning": toWarningSentence,
  "budget.exceeded": toExceededSentence,
  "cost.budget.exceeded": toExceededSentence,
  "agent.waiting": (data) => {
    const said = readText(data, "message");
    return { title: "Waiting for a message", detail: said === null || WAITS.test(said) ? null : said, tone: "warn" };
  },
  "agent.interrupted": (data) => ({ title: "Turn interrupted", detail: readText(data, "reason"), tone: "warn" }),
  "agent.turn_complete": (data) => ({ title: `Turn complete`, detail: toStop(data) }),
  "agent.shutdown": (data) => ({ title: "Worker shut down", detail: readText(data, "reason") }),
  "agent.system_message": (data) => ({
    title: "System message",
    detail: readText(data, "content", "message", "subtype"),
  }),
  "agent.completed": (data) => ({
    title: data["success"] === false ? "Agent finished without success" : "Agent finished",
    detail: join(
      readNumber(data, "turns") === null ? null : count(readNumber(data, "turns") ?? 0, "turn"),
      readNumber(data, "files_changed") === null ? null : count(readNumber(data, "files_changed") ?? 0, "file"),
      data["tests_passed"] === true && "tests passed",
      readText(data, "pr_url"),
      toStop(data),
    ),
    tone: data["success"] === false ? "bad" : "good",
  }),
  "workspace.checkpoint": (data) => ({
    title: "Checkpoint",
    detail: join(
      readText(data, "commit")?.slice(0, 10),
      readNumber(data, "files_changed") === null
        ? null
        : `${count(readNumber(data, "files_changed") ?? 0, "file")} changed`,
    ),
  }),
};

export const isLifecycle = (eventType: string): boolean => Object.hasOwn(SENTENCES, eventType);

export function toLifecycleSentence(event: Pick<LogEvent, "event_type" | "event_data">): Sentence | undefined {
  return isLifecycle(event.event_type) ? SENTENCES[event.event_type]?.(event.event_data) : undefined;
}

export function foldLifecycle(draft: FeedDraft, event: LogEvent): void {
  const sentence = toLifecycleSentence(event) ?? { title: event.event_type };
  draft.push({
    ...toRowStart(event),
    kind: "lifecycle",
    title: sentence.title,
    detail: sentence.detail ?? null,
    tone: sentence.tone ?? "quiet",
  });
}

const ERROR_TITLES: Readonly<Record<string, string>> = {
  "agent.failed": "Agent failed",
  "agent.error": "Agent error",
  "agent.stream_error": "The model's stream broke",
  "sandbox.failed": "Sandbox failed",
  "iteration.failed": "Iteration failed",
  "worker.event_rejected": "The server refused an event of the worker",
};

const ERROR_TYPE = /\.(?:error|failed|stream_error|event_rejected)$/;
export const isError = (eventType: string): boolean => ERROR_TYPE.test(eventType);

export function foldError(draft: FeedDraft, event: LogEvent): void {
  const data = event.event_data;
  const kind = readText(data, "error_type");
  const title = ERROR_TITLES[event.event_type] ?? event.event_type;
  const detail = [readText(data, "error", "message", "detail") ?? "", readText(data, "traceback") ?? ""]
    .filter(Boolean)
    .join("\n");
  draft.push({ ...toRowStart(event), kind: "error", title: kind === null ? title : `${title}: ${kind}`, detail });
}

/** One line may stand for this long while work goes on around it. */
const LINE_SPANS_MS = 10 * 60_000;

export function foldHeartbeat(draft: FeedDraft, event: LogEvent): void {
  const at = draft.index.heartbeats;
  const row = draft.rows[at];
  const isOpen =
    row?.kind === "heartbeats" &&
    (at === draft.rows.length - 1 || Date.parse(event.created_at) - Date.parse(row.at) < LINE_SPANS_MS);
  if (isOpen) draft.replace(at, { ...row, lastSeq: event.sandbox_seq, count: row.count + 1, lastAt: event.created_at });
  else
    draft.index.heartbeats = draft.push({
      ...toRowStart(event),
      kind: "heartbeats",
      count: 1,
      lastAt: event.created_at,
    });
}

/** Read from a cache or written to it, a token was given to the model. */
export const toInputTokens = (data: JsonObject): number =>
  ["input_tokens", "cache_read_tokens", "cache_write_tokens"].reduce(
    (sum, key) => sum + (readNumber(data, key) ?? 0),
    0,
  );

export function foldUsage(draft: FeedDraft, event: LogEvent): void {
  const data = event.event_data;
  const at = draft.index.usage;
  const row = draft.rows[at];
  const spent = {
    inputTokens: toInputTokens(data),
    outputTokens: readNumber(data, "output_tokens") ?? 0,
    costUsd: readNumber(data, "cost_usd") ?? 0,
  };
  const isOpen = row?.kind === "usage" && Date.parse(event.created_at) - Date.parse(row.at) < LINE_SPANS_MS;
  if (!isOpen) {
    draft.index.usage = draft.push({ ...toRowStart(event), kind: "usage", calls: 1, ...spent });
    return;
  }
  draft.replace(at, {
    ...row,
    lastSeq: event.sandbox_seq,
    calls: row.calls + 1,
    inputTokens: row.inputTokens + spent.inputTokens,
    outputTokens: row.outputTokens + spent.outputTokens,
    costUsd: row.costUsd + spent.costUsd,
  });
}
