/** Makes event data that the store can keep: no NUL, no half characters, not above the limit. Says what it cut. */
import { EVENT_DATA_LIMIT_BYTES } from "./events/event.ts";
import type { Json, JsonObject } from "./json.ts";

const MARGIN_BYTES = 4_096;
const DEPTH_LIMIT = 48;

/** Of well-formed text in UTF-8. */
function countBytes(text: string): number {
  let bytes = 0;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    // Each half of a pair is two of its four bytes.
    bytes += unit < 0x80 ? 1 : unit < 0x800 || (unit >= 0xd800 && unit < 0xe000) ? 2 : 3;
  }
  return bytes;
}

const toText = (text: string, limit: number) => {
  const clean = text.replaceAll("\u0000", "\u2400");
  return (
    clean.length > limit ? `${clean.slice(0, limit)}… (${clean.length - limit} characters cut)` : clean
  ).toWellFormed();
};

function toCut(value: unknown, limit: number, depth: number): Json | undefined {
  if (typeof value === "string") return toText(value, limit);
  if (typeof value === "number") return Number.isFinite(value) ? value : null;
  if (typeof value === "boolean" || value === null) return value;
  if (typeof value !== "object") return undefined;
  if (depth > DEPTH_LIMIT) return "… (too deep)";
  if (Array.isArray(value)) return value.map((item) => toCut(item, limit, depth + 1) ?? null);
  const pairs = Object.entries(value).map(([key, item]) => [toText(key, 500), toCut(item, limit, depth + 1)] as const);
  return Object.fromEntries(pairs.filter((pair): pair is readonly [string, Json] => pair[1] !== undefined));
}

/** Copies `data`; texts are halved until the whole fits. */
export function toEventData(data: Readonly<Record<string, unknown>>): JsonObject {
  for (let limit = EVENT_DATA_LIMIT_BYTES; limit >= 64; limit = Math.floor(limit / 2)) {
    const cut = toCut(data, limit, 0) as JsonObject;
    if (countBytes(JSON.stringify(cut)) <= EVENT_DATA_LIMIT_BYTES - MARGIN_BYTES) {
      return limit === EVENT_DATA_LIMIT_BYTES ? cut : { ...cut, is_cut: true };
    }
  }
  return { is_cut: true, detail: "the event was too large in every part" };
}
