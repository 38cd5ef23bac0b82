/** The part of a stored event that views read, and careful readings of its body: a worker may have written anything. */
import type { Json, JsonObject } from "../json.ts";

export interface LogEvent {
  readonly id: string;
  /** Dense per sandbox: 1, 2, 3, ... */
  readonly sandbox_seq: number;
  readonly event_type: string;
  readonly event_data: JsonObject;
  readonly source: string;
  readonly created_at: string;
}

export const isRecord = (value: Json | undefined): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export const readText = (data: JsonObject, ...keys: readonly string[]): string | null => {
  for (const key of keys) {
    const value = data[key];
    if (typeof value === "string" && value !== "") return value;
  }
  return null;
};

export const readNumber = (data: JsonObject, ...keys: readonly string[]): number | null => {
  for (const key of keys) {
    const value = data[key];
    if (typeof value === "number" && Number.isFinite(value)) return value;
  }
  return null;
};

export const readList = (data: JsonObject, key: string): readonly Json[] => {
  const value = data[key];
  return Array.isArray(value) ? (value as readonly Json[]) : [];
};

export const readRecord = (data: JsonObject, ...keys: readonly string[]): JsonObject => {
  for (const key of keys) {
    const value = data[key];
    if (isRecord(value)) return value;
  }
  return {};
};

/** A tool's answer as text: a string, the text blocks of a message, or the value as JSON. */
export function toPlainText(value: Json | undefined): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "string") return value;
  if (Array.isArray(value)) {
    const blocks = value as readonly Json[];
    const texts = blocks.map((block) =>
      isRecord(block) ? readText(block, "text") : typeof block === "string" ? block : null,
    );
    if (texts.length > 0 && texts.every((text) => text !== null)) return texts.join("\n");
  }
  if (isRecord(value)) {
    const text = readText(value, "text", "output", "content", "message");
    if (text !== null && Object.keys(value).length === 1) return text;
    const streams = [readText(value, "stdout"), readText(value, "stderr")].filter((part) => part !== null);
    if (streams.length > 0) return streams.join("\n");
  }
  return JSON.stringify(value, null, 2);
}
