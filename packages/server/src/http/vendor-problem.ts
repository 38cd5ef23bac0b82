/** A problem document that vendors' clients understand too: what they look for stands in `error`. */
import { ERRORS, type ErrorCode, type Problem } from "@drover/contract";
import type { ModelProtocol } from "@drover/core";

const ANTHROPIC_TYPES: Readonly<Record<number, string>> = {
  400: "invalid_request_error",
  401: "authentication_error",
  402: "billing_error",
  403: "permission_error",
  404: "not_found_error",
  408: "timeout_error",
  409: "invalid_request_error",
  413: "request_too_large",
  422: "invalid_request_error",
  429: "rate_limit_error",
  504: "timeout_error",
};

const GEMINI_STATUSES: Readonly<Record<number, string>> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  402: "FAILED_PRECONDITION",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  408: "DEADLINE_EXCEEDED",
  409: "FAILED_PRECONDITION",
  413: "INVALID_ARGUMENT",
  422: "FAILED_PRECONDITION",
  429: "RESOURCE_EXHAUSTED",
  502: "UNAVAILABLE",
  503: "UNAVAILABLE",
  504: "DEADLINE_EXCEEDED",
};

function toVendorError(protocol: ModelProtocol | undefined, { status, detail }: Problem, code: ErrorCode): object {
  const message = `Drover: ${detail}`;
  if (protocol === "gemini") return { code: status, message, status: GEMINI_STATUSES[status] ?? "INTERNAL" };
  const type = ANTHROPIC_TYPES[status] ?? "api_error";
  return protocol === "openai" ? { message, type, code, param: null } : { type, message };
}

export const toVendorProblem = (protocol: ModelProtocol | undefined, problem: Problem, code: ErrorCode) => ({
  retry: ERRORS[code].retry,
  document: { ...problem, error: toVendorError(protocol, problem, code) },
});

/** The same as the last event of a stream that had begun, behind whatever stands there half. */
export function toVendorEvent(protocol: ModelProtocol, problem: Problem, code: ErrorCode): string {
  const error = toVendorError(protocol, problem, code);
  const about = protocol === "openai" ? { ...error, type: "error" } : protocol === "anthropic" ? { type: "error" } : {};
  const name = protocol === "gemini" ? "" : "event: error\n";
  return `\n\n${name}data: ${JSON.stringify({ ...about, error })}\n\n`;
}
