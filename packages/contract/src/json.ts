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

/** Recursive, which is safe because it ends where the depth does. */
function findComplaint(value: unknown, depth: number): string | undefined {
  if (typeof value === "string") return complainOfText(value);
  if (typeof value === "number") return Number.isFinite(value) ? undefined : "contains a number that is out of range";
  if (typeof value !== "object" || value === null) return undefined;
  if (depth > JSON_DEPTH_LIMIT) return `is nested deeper than ${JSON_DEPTH_LIMIT} levels`;
  if (Array.isArray(value)) {
    for (const item of value) {
      const complaint = findComplaint(item, depth + 1);
      if (complaint !== undefined) return complaint;
    }
    return undefined;
  }
  for (const key of Object.keys(value)) {
    const complaint = complainOfText(key) ?? findComplaint((value as Record<string, unknown>)[key], depth + 1);
    if (complaint !== undefined) return complaint;
  }
  return undefined;
}

/** What in this parsed body the store could not keep: too deep, NUL, lone surrogates, numbers beyond doubles. */
export const findJsonComplaint = (root: unknown): string | undefined => findComplaint(root, 1);
