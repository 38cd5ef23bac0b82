/** A call that failed: with the server's code when it answered, with one of ours when it did not. */
import { ERRORS, isErrorCode, Problem, type ErrorCode } from "@drover/contract";

/** Failures that have no line in the server's table. */
export const CLIENT_ERRORS = {
  "client.unreachable": { retry: true, title: "The server does not answer" },
  "client.bad_reply": { retry: false, title: "The reply does not match the contract" },
  "client.timed_out": { retry: false, title: "It did not happen in time" },
} as const;

export type ClientErrorCode = ErrorCode | keyof typeof CLIENT_ERRORS;

interface Details {
  /** HTTP status, 0 when there was no reply. */
  readonly status?: number;
  readonly problem?: Problem;
  readonly retryAfterSeconds?: number;
  readonly cause?: unknown;
}

const toRule = (code: ClientErrorCode): { readonly retry: boolean; readonly title: string } =>
  isErrorCode(code) ? ERRORS[code] : CLIENT_ERRORS[code];

export class ClientError extends Error {
  readonly code: ClientErrorCode;
  readonly status: number;
  readonly problem: Problem | undefined;
  readonly retryAfterSeconds: number | undefined;

  constructor(code: ClientErrorCode, detail?: string, more: Details = {}) {
    super(detail ?? toRule(code).title, more.cause === undefined ? undefined : { cause: more.cause });
    this.name = "ClientError";
    this.code = code;
    this.status = more.status ?? 0;
    this.problem = more.problem;
    this.retryAfterSeconds = more.retryAfterSeconds;
  }

  /** Whether the same call may succeed later, unchanged. */
  get isRetryable(): boolean {
    return toRule(this.code).retry;
  }
}

/** What a reply means that carries no problem of ours, as when a proxy answered. */
const CODE_OF_STATUS: Readonly<Record<number, ClientErrorCode>> = {
  401: "auth.required",
  403: "auth.forbidden",
  404: "route.not_found",
  413: "request.too_large",
  422: "request.invalid",
  429: "request.rate_limited",
  502: "client.unreachable",
  503: "client.unreachable",
  504: "client.unreachable",
};

/** The problem's `type` is an address that ends in the code. */
function toCode(problem: Problem | undefined, status: number): ClientErrorCode {
  const code = /[a-z_]+\.[a-z_]+$/.exec(problem?.type ?? "")?.[0] ?? "";
  if (isErrorCode(code)) return code;
  return CODE_OF_STATUS[status] ?? (status >= 500 ? "server.failed" : "request.invalid");
}

export async function toClientError(response: Response): Promise<ClientError> {
  // A body that cannot be read or is not JSON is expected here: proxies answer in HTML.
  const body: unknown = await response.json().catch(() => undefined);
  const problem = Problem.safeParse(body).data;
  const retryAfter = Number(response.headers.get("retry-after") ?? Number.NaN);
  const detail = problem === undefined ? `${response.status} ${response.statusText}`.trim() : problem.detail;
  return new ClientError(toCode(problem, response.status), detail, {
    status: response.status,
    ...(problem === undefined ? {} : { problem }),
    ...(Number.isFinite(retryAfter) ? { retryAfterSeconds: retryAfter } : {}),
  });
}
