/** The cluster's refusals as ours, by status, never by message. */
import { AppError } from "@drover/contract";
import { z } from "zod";
import type { Library } from "./client.ts";

/** Trying again does not help: who we are, what we may, what we asked for. A full quota is a 403 too, and says so in its message. */
const FINAL: ReadonlySet<number> = new Set([400, 401, 403, 405, 413, 415, 422]);

/** The body of a refusal, https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/ */
const Refused = z.looseObject({ message: z.string() });

export const isMissingModule = (error: unknown): boolean =>
  error instanceof Error &&
  "code" in error &&
  (error.code === "ERR_MODULE_NOT_FOUND" || error.code === "MODULE_NOT_FOUND");

function readMessage(body: unknown): string | undefined {
  const parsed = Refused.safeParse(typeof body === "string" ? parseJson(body) : body);
  return parsed.success ? parsed.data.message : undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // expected: a proxy in between that answers with a page
  }
}

function readRetryAfter(headers: unknown): number | undefined {
  const text = headers instanceof Object && "retry-after" in headers ? String(headers["retry-after"]) : "";
  return /^\d+$/.test(text) ? Number(text) : undefined;
}

/** By status; undefined: there was no answer. */
export function toRefusal(
  status: number | undefined,
  message: string | undefined,
  more: { readonly cause?: unknown; readonly retryAfterSeconds?: number | undefined } = {},
): AppError {
  const code = status !== undefined && FINAL.has(status) ? "sandbox.rejected" : "sandbox.unavailable";
  const text = message ?? (status === undefined ? "the cluster does not answer" : `the cluster answered ${status}`);
  const { cause, retryAfterSeconds } = more;
  return new AppError(code, `Kubernetes: ${text}`, {
    ...(cause !== undefined && { cause }),
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
  });
}

export function toAppError(library: Library, error: unknown): AppError {
  if (error instanceof AppError) return error;
  if (!(error instanceof library.ApiException)) return toRefusal(undefined, undefined, { cause: error });
  const retryAfterSeconds = readRetryAfter(error.headers);
  // Not the exception itself: its text holds every header of the answer.
  return toRefusal(error.code, readMessage(error.body), { retryAfterSeconds });
}
