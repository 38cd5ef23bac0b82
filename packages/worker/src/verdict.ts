/** What a reply means to a worker. Pure; the table of errors decides, never a message. */
import { type ErrorCode, ERRORS, isErrorCode, Problem } from "@drover/contract";
import type { Reply } from "./transport.ts";

/** Why the server wants no more from this worker. */
export interface Ending {
  readonly reason: "revoked" | "fenced" | "ended" | "unknown_sandbox";
  readonly detail: string;
}

export type Verdict =
  | { readonly kind: "ok"; readonly body: string }
  /** The server could not; the same request may succeed later. */
  | { readonly kind: "retry"; readonly afterSeconds: number | undefined; readonly detail: string }
  | { readonly kind: "ended"; readonly ending: Ending }
  /** The server will never take this request. */
  | {
      readonly kind: "refused";
      readonly status: number;
      readonly code: ErrorCode | undefined;
      readonly detail: string;
    };

/** The parts of a problem that a worker reads, all of them optional: a proxy may have written it. */
const ProblemBody = Problem.pick({ type: true, title: true, detail: true }).partial();

interface ProblemText {
  readonly code: ErrorCode | undefined;
  readonly detail: string;
}

function readProblem(body: string): ProblemText {
  try {
    const { type = "", detail, title } = ProblemBody.parse(JSON.parse(body));
    const code = type.split(/[/:#]/).at(-1) ?? "";
    return { code: isErrorCode(code) ? code : undefined, detail: detail ?? title ?? "" };
  } catch {
    // Expected: a proxy's page instead of our JSON.
    return { code: undefined, detail: body.slice(0, 200) };
  }
}

const ENDINGS: Readonly<Partial<Record<ErrorCode, Ending["reason"]>>> = {
  "auth.required": "revoked",
  "sandbox.fenced": "fenced",
  "sandbox.terminal": "ended",
  "sandbox.not_found": "unknown_sandbox",
};

function toEnding(status: number, { code, detail }: ProblemText): Ending | undefined {
  const reason = code === undefined ? undefined : ENDINGS[code];
  if (reason !== undefined) return { reason, detail };
  if (status === 401) return { reason: "revoked", detail };
  // A conflict that names something smaller than the sandbox (a message, a transition) ends only that request.
  if (status === 409 && code === undefined) return { reason: "ended", detail };
  return undefined;
}

export function toVerdict(reply: Reply): Verdict {
  if (reply.kind === "unreachable") return { kind: "retry", afterSeconds: undefined, detail: reply.detail };
  const { status, body } = reply;
  if (status >= 200 && status < 300) return { kind: "ok", body };
  const problem = readProblem(body);
  const ending = toEnding(status, problem);
  if (ending !== undefined) return { kind: "ended", ending };
  const isRetried =
    problem.code === undefined
      ? status >= 500 || status === 408 || status === 429 || status < 400
      : ERRORS[problem.code].retry;
  const detail = `${status} ${problem.detail}`.trim();
  if (isRetried) return { kind: "retry", afterSeconds: reply.retryAfterSeconds, detail };
  // A 404 without our code comes from something between us and the server, such as a proxy that is being replaced.
  if (status === 404 && problem.code === undefined) return { kind: "retry", afterSeconds: undefined, detail };
  return { kind: "refused", status, code: problem.code, detail };
}
