/** Turns whatever a request ran into a problem document; what is not expected is logged and told as a bug, without details. */
import { AppError, ERRORS, type ErrorCode, type FieldComplaint, type Problem } from "@drover/contract";
import type { z } from "zod";
import type { Log } from "../ports/log.ts";

type Issue = z.core.$ZodIssue;

const toPath = (path: readonly PropertyKey[]) => path.map(String).join(".");

/** Of a union, the branch that came furthest tells most. */
function flatten(issue: Issue, prefix: readonly PropertyKey[] = []): readonly FieldComplaint[] {
  const path = [...prefix, ...issue.path];
  if (issue.code === "invalid_union" && issue.errors.length > 0) {
    const depth = (branch: readonly Issue[]) => Math.max(0, ...branch.map((one) => one.path.length));
    const best = issue.errors.toSorted((a, b) => depth(b) - depth(a) || a.length - b.length)[0] ?? [];
    return best.flatMap((one) => flatten(one, path));
  }
  if (issue.code === "unrecognized_keys")
    return issue.keys.map((key) => ({ path: toPath([...path, key]), message: "is not a known field" }));
  return [{ path: toPath(path), message: issue.message }];
}

export function toInvalid(error: z.ZodError, place: "body" | "query" | "path"): AppError {
  const fields = error.issues.flatMap((issue) => flatten(issue)).slice(0, 20);
  const first = fields[0];
  const detail =
    first === undefined
      ? `the ${place} is not valid`
      : `${place}${first.path === "" ? "" : ` ${first.path}`}: ${first.message}`;
  return new AppError("request.invalid", detail, { fields });
}

/** Errors of the HTTP framework that are the caller's doing. */
const FRAMEWORK_CODES: Readonly<Record<string, ErrorCode>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: "request.too_large",
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: "request.not_json",
  FST_ERR_CTP_EMPTY_JSON_BODY: "request.not_json",
  FST_ERR_CTP_INVALID_MEDIA_TYPE: "request.not_json",
  FST_ERR_BAD_URL: "route.not_found",
  FST_ERR_MAX_PARAM_LENGTH: "route.not_found",
  FST_STATIC_FORBIDDEN_PATH: "route.not_found",
};

export function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  const code = (error as { code?: unknown }).code;
  const known = typeof code === "string" ? FRAMEWORK_CODES[code] : undefined;
  return known === undefined
    ? new AppError("server.failed", undefined, { cause: error })
    : new AppError(known, undefined, { cause: error });
}

export function toProblem(error: AppError, requestId: string, log: Log): Problem {
  const rule = ERRORS[error.code];
  if (error.code === "server.failed") {
    const cause = error.cause instanceof Error ? error.cause.stack : String(error.cause);
    log.error("request.failed", { request_id: requestId, cause });
  }
  return {
    type: `urn:drover:error:${error.code}`,
    title: rule.title,
    status: rule.status,
    detail: error.message,
    ...(error.fields.length === 0 ? {} : { errors: error.fields.map((field) => ({ ...field })) }),
    request_id: requestId,
  };
}
