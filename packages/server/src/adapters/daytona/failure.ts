/** Daytona's errors as ours, by class and status, never by message. */
import { AppError } from "@drover/contract";
import type { Sdk } from "./client.ts";

/** Daytona answers 400 and 409 alike while a sandbox changes its state, so a call without input of ours may be tried again. */
export type CallKind = "input" | "lifecycle" | "file";

function readRetryAfter(error: InstanceType<Sdk["DaytonaError"]>): number | undefined {
  const headers: unknown = error.headers;
  const value = headers instanceof Object && "retry-after" in headers ? Number(headers["retry-after"]) : Number.NaN;
  return Number.isFinite(value) && value >= 0 ? value : undefined;
}

function pickCode(
  sdk: Sdk,
  error: unknown,
  kind: CallKind,
): "sandbox.unavailable" | "sandbox.rejected" | "file.not_found" {
  if (error instanceof sdk.DaytonaFileNotFoundError) return "file.not_found";
  if (error instanceof sdk.DaytonaNotFoundError)
    return kind === "file" && error.source === sdk.SOURCE_DAEMON ? "file.not_found" : "sandbox.unavailable";
  if (error instanceof sdk.DaytonaConflictError) return "sandbox.unavailable";
  if (error instanceof sdk.DaytonaInvalidArgumentError) return "sandbox.rejected";
  if (error instanceof sdk.DaytonaBadRequestError)
    return kind === "lifecycle" ? "sandbox.unavailable" : "sandbox.rejected";
  const isFinal =
    error instanceof sdk.DaytonaAuthenticationError ||
    error instanceof sdk.DaytonaForbiddenError ||
    error instanceof sdk.DaytonaGoneError ||
    error instanceof sdk.DaytonaUnprocessableEntityError;
  return isFinal ? "sandbox.rejected" : "sandbox.unavailable";
}

export function toAppError(sdk: Sdk, error: unknown, kind: CallKind): AppError {
  if (error instanceof AppError) return error;
  const code = pickCode(sdk, error, kind);
  const text = error instanceof Error ? error.message : "the connection broke";
  const retryAfterSeconds = error instanceof sdk.DaytonaRateLimitError ? readRetryAfter(error) : undefined;
  return new AppError(code, `Daytona: ${text}`, {
    cause: error,
    ...(retryAfterSeconds !== undefined && { retryAfterSeconds }),
  });
}
