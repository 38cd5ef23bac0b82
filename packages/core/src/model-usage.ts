/** Reads from a model's answer, as it passes by, how many tokens it took. */
import type { ModelDialect } from "./model-route.ts";

export interface TokenUsage {
  /** Without what was read from or written to a cache. */
  readonly input: number;
  readonly output: number;
  readonly cacheRead: number;
  readonly cacheWrite: number;
}

export interface Metered {
  readonly usage: TokenUsage;
  /** The vendor did not say everything: what is missing was counted from what was sent. */
  readonly isEstimate: boolean;
}

export interface UsageMeter {
  take(text: string): void;
  /** Whether the vendor's last word on this answer has been read. */
  isComplete(): boolean;
  /** `requestCharacters`: for the tokens of a request on which the vendor never spoke. */
  read(requestCharacters: number): Metered;
}

type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const pick = (value: unknown, key: string): unknown => (isFields(value) ? value[key] : undefined);
const count = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isFinite(value) && value >= 0 ? Math.round(value) : undefined;

const CHARACTERS_PER_TOKEN = 4;
export const toTokens = (characters: number): number => Math.ceil(characters / CHARACTERS_PER_TOKEN);

type Partial4 = { -readonly [Key in keyof TokenUsage]?: TokenUsage[Key] | undefined };

function readMessages(usage: unknown): Partial4 {
  return {
    input: count(pick(usage, "input_tokens")),
    output: count(pick(usage, "output_tokens")),
    cacheRead: count(pick(usage, "cache_read_input_tokens")),
    cacheWrite: count(pick(usage, "cache_creation_input_tokens")),
  };
}

/** OpenAI and Gemini count what came from the cache as input too. */
function splitCached(input: number | undefined, cached: number | undefined, output: number | undefined): Partial4 {
  const cacheRead = Math.min(cached ?? 0, input ?? 0);
  return { input: input === undefined ? undefined : input - cacheRead, cacheRead, output };
}

const readResponses = (usage: unknown): Partial4 =>
  splitCached(
    count(pick(usage, "input_tokens")),
    count(pick(pick(usage, "input_tokens_details"), "cached_tokens")),
    count(pick(usage, "output_tokens")),
  );

const readChat = (usage: unknown): Partial4 =>
  splitCached(
    count(pick(usage, "prompt_tokens")),
    count(pick(pick(usage, "prompt_tokens_details"), "cached_tokens")),
    count(pick(usage, "completion_tokens")),
  );

function readGemini(usage: unknown): Partial4 {
  const prompt = count(pick(usage, "promptTokenCount"));
  const tools = count(pick(usage, "toolUsePromptTokenCount")) ?? 0;
  const said = count(pick(usage, "candidatesTokenCount"));
  const thought = count(pick(usage, "thoughtsTokenCount"));
  return splitCached(
    prompt === undefined ? undefined : prompt + tools,
    count(pick(usage, "cachedContentTokenCount")),
    said === undefined && thought === undefined ? undefined : (said ?? 0) + (thought ?? 0),
  );
}

interface Reading {
  readonly usage: Partial4;
  readonly isLast: boolean;
}

/** What one event of a stream, or a whole answer, says. */
const READERS: Readonly<Record<ModelDialect, (event: Fields) => Reading>> = {
  messages: (event) => ({
    usage: readMessages(pick(event["message"], "usage") ?? event["usage"]),
    isLast: event["type"] === "message_stop" || event["type"] === "message",
  }),
  responses: (event) => {
    const response = event["response"] ?? event;
    const status = pick(response, "status");
    return { usage: readResponses(pick(response, "usage")), isLast: status !== "in_progress" && status !== "queued" };
  },
  chat: (event) => ({ usage: readChat(event["usage"]), isLast: event["object"] === "chat.completion" }),
  gemini: (event) => {
    const candidates = event["candidates"];
    const first: unknown = Array.isArray(candidates) ? candidates[0] : undefined;
    return { usage: readGemini(event["usageMetadata"]), isLast: pick(first, "finishReason") !== undefined };
  },
};

/** Only these lines are parsed; the others are many, and say nothing about usage. */
const TELLING: Readonly<Record<ModelDialect, RegExp>> = {
  messages: /"usage"|"message_stop"/,
  responses: /"usage"/,
  chat: /"usage"|^\[DONE\]/,
  gemini: /"usageMetadata"|"finishReason"/,
};

/** Their events name the usage beside every piece of text: as far as it came, or as null. */
const ALWAYS_TELLING: ReadonlySet<ModelDialect> = new Set(["chat", "gemini"]);

/** Texts in events that add to the answer. */
const SAID = /"(?:text|thinking|partial_json|delta|content|arguments|reasoning_content)"\s*:\s*"((?:[^"\\]|\\.)*)"/g;

const countSaid = (line: string): number => {
  let characters = 0;
  for (const match of line.matchAll(SAID)) characters += match[1]?.length ?? 0;
  return characters;
};

/** An answer, or a line of one, that is longer than this is not read for usage. */
const TEXT_LIMIT = 16 * 1024 * 1024;

function parseFields(text: string): Fields | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isFields(value) ? value : undefined;
  } catch {
    return undefined; // expected: the answer broke off, or is not what the protocol says
  }
}

export function createUsageMeter(dialect: ModelDialect, isStream: boolean): UsageMeter {
  const known: Partial4 = {};
  let parts: string[] = [];
  let length = 0;
  let said = 0;
  let isLast = false;

  const learn = (event: Fields) => {
    const reading = READERS[dialect](event);
    for (const key of ["input", "output", "cacheRead", "cacheWrite"] as const) {
      const value = reading.usage[key];
      if (value !== undefined) known[key] = value;
    }
    isLast ||= reading.isLast;
  };

  const takeLine = (line: string) => {
    if (!line.startsWith("data:")) return;
    const data = line.slice("data:".length).trim();
    if (!TELLING[dialect].test(data)) return void (said += countSaid(data));
    if (data === "[DONE]") return void (isLast = true);
    const event = parseFields(data);
    if (event !== undefined) learn(event);
    if (ALWAYS_TELLING.has(dialect)) said += countSaid(data);
  };

  const keep = (text: string) => {
    length += text.length;
    if (length <= TEXT_LIMIT) parts.push(text);
    else parts = [];
  };

  const takeStream = (text: string) => {
    let start = 0;
    for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", start)) {
      keep(text.slice(start, end));
      if (length <= TEXT_LIMIT) takeLine(parts.length === 1 ? (parts[0] ?? "") : parts.join(""));
      parts = [];
      length = 0;
      start = end + 1;
    }
    if (start < text.length) keep(start === 0 ? text : text.slice(start));
  };

  const readWhole = () => {
    const whole = parseFields(parts.join(""));
    if (whole === undefined) said = Math.max(said, length);
    else learn(whole);
    parts = [];
  };

  return {
    take: isStream ? takeStream : keep,
    isComplete: () => isLast,
    read: (requestCharacters) => {
      if (!isStream && !isLast) readWhole();
      const isEstimate = known.input === undefined || known.output === undefined || !isLast;
      return {
        usage: {
          input: known.input ?? toTokens(requestCharacters),
          output: isLast && known.output !== undefined ? known.output : Math.max(known.output ?? 0, toTokens(said)),
          cacheRead: known.cacheRead ?? 0,
          cacheWrite: known.cacheWrite ?? 0,
        },
        isEstimate,
      };
    },
  };
}
