/** Records a session as a worker would: a clock that runs, heartbeats by their own timer, tools and their results. */
import type { Chance } from "../chance.ts";
import type { JsonObject, RecordedSession } from "@drover/contract";
import { LAST_WORDS, type Project, PROJECTS, type Some, toContent, toThought } from "./scenery.ts";

type RecordedEvent = RecordedSession["events"][number];

const BEAT_MS = 30_000;
const EPOCH_MS = Date.UTC(2026, 0, 5, 8);
const RESULT_CHARACTERS = 5_000;
const MODELS: Some<{ readonly model: string; readonly provider: string; readonly window: number }> = [
  { model: "claude-sonnet-4-5", provider: "anthropic", window: 200_000 },
  { model: "gpt-5-codex", provider: "openai", window: 400_000 },
  { model: "gemini-2.5-pro", provider: "gemini", window: 1_000_000 },
];

type Data = Readonly<Record<string, unknown>>;

export interface ToolOutcome {
  readonly result: string;
  readonly isError?: boolean;
  readonly seconds?: number;
}

export interface Tokens {
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
}

export interface Recording {
  readonly chance: Chance;
  readonly project: Project;
  readonly window: number;
  readonly seq: number;
  wait(seconds: number): void;
  say(type: string, data: Data, source?: RecordedEvent["source"]): number;
  /** The model is asked and answers: time passes, tokens are metered, it may say a word. */
  ask(tokens?: Tokens): void;
  use(tool: string, input: Data, outcome: ToolOutcome): number;
  open(tool: string, input: Data): string;
  close(id: string, outcome: ToolOutcome): void;
  run(command: string, outcome: ToolOutcome): number;
  read(path: string): number;
  /** Returns the number of the call. */
  edit(path: string, added?: number, removed?: number): number;
  /** The turn ends, and a person or the worker gives the next one. */
  nextTurn(content: string): void;
  complete(): void;
  /** Says its last words, and nothing of being complete. */
  fallSilent(isWaitingTold: boolean): void;
  shutDown(reason: string): void;
  toSession(about: Omit<RecordedSession, "events" | "context_tokens">): RecordedSession;
}

export interface RecordingParts {
  readonly prompt: string;
  readonly project?: Project;
  /** Token counts are the point of the session. */
  readonly isMetered?: boolean;
  readonly isWindowKnown?: boolean;
}

export function startRecording(chance: Chance, parts: RecordingParts): Recording {
  const project = parts.project ?? chance.pick(PROJECTS);
  const { model, provider, window } = chance.pick(MODELS);
  const isMetered = parts.isMetered === true || chance.isIn(85);
  const isWindowKnown = parts.isWindowKnown ?? chance.isIn(80);
  const isAbsolute = chance.isIn(40);
  const hasHooks = chance.isIn(40);
  const events: RecordedEvent[] = [];
  const editions = new Map<string, number>();
  let nowMs = EPOCH_MS + chance.int(0, 86_400) * 1_000;
  let beatMs = nowMs;
  let turn = 1;
  let calls = 0;
  let context = chance.int(9_000, 16_000);
  let status: "running" | "idle" = "running";
  let tool: { readonly id: string; readonly name: string; readonly sinceMs: number; readonly input: Data } | undefined;

  const push = (type: string, data: Data, source: RecordedEvent["source"]) => {
    nowMs += chance.int(1, 40);
    events.push({ seq: events.length + 1, event_type: type, event_data: data as JsonObject, source, atMs: nowMs });
    return events.length;
  };
  const beat = () => {
    const age = tool === undefined ? {} : { tool: tool.name, tool_age_s: Math.round((nowMs - tool.sinceMs) / 1_000) };
    const timestamp = new Date(nowMs).toISOString();
    push("agent.heartbeat", { timestamp, status, event_count: events.length, ...age }, "worker");
  };
  const wait = (seconds: number) => {
    const untilMs = nowMs + Math.round(seconds * 1_000);
    while (beatMs <= untilMs) {
      nowMs = Math.max(nowMs, beatMs);
      beatMs += BEAT_MS;
      beat();
    }
    nowMs = Math.max(nowMs, untilMs);
  };
  const say: Recording["say"] = (type, data, source = "agent") => push(type, { turn, ...data }, source);

  const spend = ({ input, output, cacheRead, cacheWrite }: Tokens) => {
    const cost = (input * 3 + output * 15 + cacheRead * 0.3 + cacheWrite * 3.75) / 1_000_000;
    const counts = { input_tokens: input, output_tokens: output, cache_read_tokens: cacheRead };
    const data = { provider, model, ...counts, cache_write_tokens: cacheWrite, cost_usd: Number(cost.toFixed(6)) };
    if (isMetered) say("agent.usage", data, "server");
  };
  const toTokens = (): Tokens => {
    const grown = chance.int(300, 1_800);
    // An agent compacts what it remembers long before its window is full.
    const before = context > window * 0.5 ? Math.round(window * 0.15) : context;
    context = before + grown;
    return { input: chance.int(5, 400), output: chance.int(60, 900), cacheRead: before, cacheWrite: grown };
  };
  const ask = (tokens?: Tokens) => {
    status = "running";
    wait(chance.int(2, 20));
    spend(tokens ?? toTokens());
    if (chance.isIn(20)) say("agent.thinking", { content: toThought(chance), thinking_type: "thinking" });
    if (!chance.isIn(35)) return;
    const content = toThought(chance);
    say("agent.message", { content, content_length: content.length });
  };

  const open = (name: string, input: Data) => {
    calls += 1;
    const id = `toolu_${calls.toString(36).padStart(4, "0")}`;
    say("agent.tool_use", { tool: name, tool_use_id: id, input });
    tool = { id, name, sinceMs: nowMs, input };
    return id;
  };
  const close = (id: string, { result, isError = false }: ToolOutcome) => {
    const closed = tool;
    tool = undefined;
    const name = closed?.name ?? "Bash";
    const duration = { duration_ms: nowMs - (closed?.sinceMs ?? nowMs) };
    const response = result.slice(0, RESULT_CHARACTERS);
    if (hasHooks && !isError)
      say("agent.tool_completed", {
        tool: name,
        tool_use_id: id,
        tool_input: closed?.input ?? {},
        tool_response: response,
        ...duration,
      });
    const length = { result_truncated: result.length > RESULT_CHARACTERS, result_full_length: result.length };
    say("agent.tool_result", {
      tool: name,
      tool_use_id: id,
      result: response,
      ...length,
      is_error: isError,
      ...duration,
    });
  };
  const use: Recording["use"] = (name, input, outcome) => {
    const id = open(name, input);
    const seq = events.length;
    wait(outcome.seconds ?? chance.int(1, 15) / 10);
    close(id, outcome);
    return seq;
  };
  const toToolPath = (path: string) => (isAbsolute ? `/workspace/${path}` : path);

  const edit: Recording["edit"] = (path, added = chance.int(1, 25), removed = chance.int(0, 12)) => {
    const edition = (editions.get(path) ?? 0) + 1;
    editions.set(path, edition);
    const isNew = removed === 0 && chance.isIn(30);
    const text = `${toContent(path, edition, Math.min(added, 12))}\n`;
    const input = isNew
      ? { file_path: toToolPath(path), content: text }
      : { file_path: toToolPath(path), old_string: toContent(path, edition - 1, 2), new_string: text };
    const seq = use(isNew ? "Write" : "Edit", input, { result: `The file ${path} has been updated.` });
    const diff = `@@ -1,${removed} +1,${added} @@\n+${text.slice(0, 200)}`;
    say("agent.file_edited", {
      tool_use_id: `toolu_${calls.toString(36).padStart(4, "0")}`,
      file_path: path,
      change_type: isNew ? "created" : "modified",
      lines_added: added,
      lines_removed: removed,
      diff_preview: diff,
      full_diff: diff,
      full_diff_size: diff.length,
    });
    return seq;
  };

  push(
    "agent.started",
    {
      turn: 0,
      timestamp: new Date(nowMs).toISOString(),
      sdk: "claude",
      model,
      task: parts.prompt,
      task_description_length: parts.prompt.length,
      is_resuming: false,
    },
    "worker",
  );
  return {
    chance,
    project,
    window,
    get seq() {
      return events.length;
    },
    wait,
    say,
    ask,
    use,
    open,
    close,
    run: (command, outcome) => use("Bash", { command }, outcome),
    read: (path) => {
      const lines = 20 + ((path.length * 7) % 60);
      return use("Read", { file_path: toToolPath(path) }, { result: toContent(path, editions.get(path) ?? 0, lines) });
    },
    edit,
    nextTurn: (content) => {
      say("agent.turn_complete", { num_turns: turn, session_id: "session", is_error: false, stop_reason: "completed" });
      say("agent.waiting", { message: "Waiting for messages." });
      status = "idle";
      wait(chance.int(3, 25));
      turn += 1;
      status = "running";
      say("agent.message_injected", { message_type: "user_message", content, content_length: content.length });
    },
    complete: () => {
      const content = chance.pick(LAST_WORDS);
      say("agent.message", { content, content_length: content.length });
      say("agent.completed", {
        success: true,
        turns: turn,
        session_id: "session",
        stop_reason: "completed",
        final_output: content,
      });
      say("agent.waiting", { message: "Waiting for messages." });
      status = "idle";
    },
    fallSilent: (isWaitingTold) => {
      const content = chance.pick(LAST_WORDS);
      say("agent.message", { content, content_length: content.length });
      if (isWaitingTold) say("agent.waiting", { message: "Waiting for messages." });
      status = "idle";
    },
    shutDown: (reason) => {
      say("agent.shutdown", { reason, total_turns: turn, timestamp: new Date(nowMs).toISOString() }, "worker");
    },
    toSession: (about) => ({ ...about, context_tokens: isWindowKnown ? window : null, events }),
  };
}
