/** What a model request asks for, in whichever dialect. */
import type { ModelDialect, ModelRoute } from "./model-route.ts";

export type RequestBody = Readonly<Record<string, unknown>>;

export const isRequestBody = (value: unknown): value is RequestBody =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export interface ModelRequest {
  readonly model: string;
  readonly isStream: boolean;
  readonly maxOutputTokens: number | undefined;
}

const MODEL_LIMIT = 200;

function readMaxTokens(dialect: ModelDialect, body: RequestBody): number | undefined {
  const config = body["generationConfig"];
  const found = {
    messages: body["max_tokens"],
    responses: body["max_output_tokens"],
    chat: body["max_completion_tokens"] ?? body["max_tokens"],
    gemini: isRequestBody(config) ? config["maxOutputTokens"] : undefined,
  }[dialect];
  return typeof found === "number" && found > 0 ? found : undefined;
}

const isOtherSpelling = (name: string) => name !== "model" && name.toLowerCase() === "model";

/** Undefined when no model is named, or one in a way that some vendors read and others do not. */
export function readModelRequest(route: ModelRoute, body: RequestBody): ModelRequest | undefined {
  const model = route.model ?? body["model"];
  if (typeof model !== "string" || model === "" || model.length > MODEL_LIMIT) return undefined;
  if (Object.keys(body).some(isOtherSpelling)) return undefined;
  return {
    model,
    isStream: route.isStream ?? body["stream"] === true,
    maxOutputTokens: readMaxTokens(route.dialect, body),
  };
}

/** False for JSON that may name its model twice: who keeps the first of two equal names reads another one than we did. */
export const hasOneReading = (json: string): boolean =>
  !/\\u00[4-7]/i.test(json) && (json.match(/"model"\s*:/g)?.length ?? 0) < 2;

/** Asked to be worked on after the answer: what that takes would pass nobody here. */
export const isLeftRunning = (route: ModelRoute, body: RequestBody): boolean =>
  route.dialect === "responses" && body["background"] === true;

/** Chat completions tell their usage in a stream only when asked to. */
export const needsUsage = (route: ModelRoute, body: RequestBody): boolean =>
  route.kind === "generate" &&
  route.dialect === "chat" &&
  body["stream"] === true &&
  !(isRequestBody(body["stream_options"]) && body["stream_options"]["include_usage"] === true);

export const askForUsage = (body: RequestBody): RequestBody => ({
  ...body,
  stream_options: { ...(isRequestBody(body["stream_options"]) ? body["stream_options"] : {}), include_usage: true },
});

/** Some servers end lines with carriage returns, too. */
const EVENT_ENDS = ["\n\n", "\n\r\n"] as const;

/** Of streams that tell their usage at the end, until then. In texts its quotes stand escaped. */
const USAGE_TO_COME = /,\s*"usage"\s*:\s*null(?=\s*[,}])/;

/** Takes out of a stream the usage that the agent did not ask for: the chunk with it, and that it is to come; the rest passes unchanged,
 *  event by event. */
export function createUsageFilter(): { take(text: string): string; end(): string } {
  let pending = "";
  const isUsage = (event: string) => /"choices"\s*:\s*\[\s*\]/.test(event) && event.includes('"usage"');
  return {
    take: (text) => {
      pending += text;
      const cut = Math.max(...EVENT_ENDS.map((end) => pending.lastIndexOf(end) + end.length));
      if (!EVENT_ENDS.some((end) => pending.endsWith(end, cut))) return "";
      const whole = pending.slice(0, cut);
      pending = pending.slice(cut);
      if (!whole.includes('"usage"')) return whole;
      return whole
        .split(/(?<=\n\r?\n)/)
        .filter((event) => !isUsage(event))
        .map((event) => event.replace(USAGE_TO_COME, ""))
        .join("");
    },
    end: () => {
      const rest = pending;
      pending = "";
      return rest;
    },
  };
}
