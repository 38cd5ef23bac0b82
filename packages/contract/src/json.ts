/** JSON values as they travel: checked for what the store cannot keep, never rebuilt, so that they stay equal. */
import { z } from "zod";

export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };
export type JsonObject = { readonly [key: string]: Json };

export const JSON_DEPTH_LIMIT = 64;

const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** A plain object passed through by reference: rebuilding it would lose keys such as `__proto__`. */
export const JsonObject = z.custom<JsonObject>(isObject, "must be a JSON object").meta({ type: "object" });

const complainOfText = (text: string): string | undefined => {
  if (text.includes("\u0000")) return "contains a NUL character";
  if (!text.isWellFormed()) return "contains half of a surrogate pair";
  return undefined;
};

/** What in this parsed body the store could not keep: too deep, NUL, lone surrogates, numbers beyond doubles. Iterative, so depth cannot exhaust the stack. */
export function findJsonComplaint(root: unknown): string | undefined {
  const open: { value: unknown; depth: number }[] = [{ value: root, depth: 1 }];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { value, depth } = next;
    if (typeof value === "string") {
      const complaint = complainOfText(value);
      if (complaint !== undefined) return complaint;
    } else if (typeof value === "number") {
      if (!Number.isFinite(value)) return "contains a number that is out of range";
    } else if (typeof value === "object" && value !== null) {
      if (depth > JSON_DEPTH_LIMIT) return `is nested deeper than ${JSON_DEPTH_LIMIT} levels`;
      if (Array.isArray(value)) {
        for (const item of value) open.push({ value: item, depth: depth + 1 });
      } else {
        for (const [key, item] of Object.entries(value)) {
          const complaint = complainOfText(key);
          if (complaint !== undefined) return complaint;
          open.push({ value: item, depth: depth + 1 });
        }
      }
    }
  }
  return undefined;
}
