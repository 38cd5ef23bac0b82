/** Every refusal the system can give: the table decides HTTP status, client retry and exit text. Never match on messages. */
interface ErrorRule {
  readonly status: number;
  readonly retry: boolean;
  readonly title: string;
}

export const ERRORS = {
  "request.malformed": { status: 400, retry: false, title: "The request is not HTTP as we understand it" },
  "request.timed_out": { status: 408, retry: true, title: "The request did not come to its end in time" },
  "request.headers_too_large": { status: 431, retry: false, title: "The headers are too large" },
  "request.not_json": { status: 400, retry: false, title: "The body is not JSON in UTF-8" },
  "request.invalid": { status: 422, retry: false, title: "The request does not match the contract" },
  "request.too_large": { status: 413, retry: false, title: "The request is too large" },
  "request.rate_limited": { status: 429, retry: true, title: "Too many requests" },
  "request.host_refused": { status: 403, retry: false, title: "This host or origin is not served" },
  "request.wrong_method": { status: 405, retry: false, title: "This address is not asked by this method" },
  "request.key_reused": { status: 422, retry: false, title: "The idempotency key was used for another request" },
  "auth.required": { status: 401, retry: false, title: "A valid credential is needed" },
  "auth.forbidden": { status: 403, retry: false, title: "The credential does not allow this" },
  "route.not_found": { status: 404, retry: false, title: "There is nothing at this address" },
  "project.not_found": { status: 404, retry: false, title: "No such project" },
  "project.exists": { status: 409, retry: false, title: "A project of this name exists" },
  "project.in_use": { status: 409, retry: false, title: "The project still has running sandboxes" },
  "token.not_found": { status: 404, retry: false, title: "No such token" },
  "sandbox.not_found": { status: 404, retry: false, title: "No such sandbox" },
  "sandbox.illegal_transition": { status: 409, retry: false, title: "The sandbox cannot do this in its state" },
  "sandbox.terminal": { status: 409, retry: false, title: "The sandbox has ended" },
  "sandbox.fenced": { status: 409, retry: false, title: "A newer generation of this sandbox has taken over" },
  "port.not_answering": { status: 502, retry: true, title: "Nothing answers at this port of the sandbox" },
  "sandbox.unavailable": { status: 503, retry: true, title: "The sandbox does not answer" },
  "sandbox.elsewhere": {
    status: 503,
    retry: true,
    title: "The sandbox stands at another replica, which does not answer",
  },
  "sandbox.rejected": { status: 422, retry: false, title: "The provider refused this" },
  "task.not_found": { status: 404, retry: false, title: "No such task" },
  "task.illegal_transition": { status: 409, retry: false, title: "The task cannot do this in its state" },
  "task.not_a_dependency": { status: 404, retry: false, title: "The task does not depend on this one" },
  "task.limit_reached": { status: 409, retry: false, title: "No more tasks may be added here" },
  "task.not_yours": { status: 409, retry: false, title: "The sandbox does not work on this task" },
  "task.unproven": { status: 409, retry: true, title: "The evidence does not hold" },
  "sync.not_found": { status: 404, retry: false, title: "No such sync" },
  "ticket.not_found": { status: 404, retry: false, title: "No such ticket" },
  "ticket.illegal_transition": { status: 409, retry: false, title: "The ticket cannot do this in its state" },
  "ticket.duplicate": { status: 409, retry: false, title: "There are tickets like this one" },
  "graph.cycle": { status: 422, retry: false, title: "The dependencies would form a cycle" },
  "join.not_found": { status: 404, retry: false, title: "No such join" },
  "file.not_found": { status: 404, retry: false, title: "No such file in the sandbox" },
  "repository.unavailable": { status: 422, retry: false, title: "The repository cannot be read" },
  "git.unavailable": { status: 503, retry: true, title: "The Git host does not answer" },
  "git.refused": { status: 422, retry: false, title: "The Git host refused this" },
  "git.conflict": { status: 409, retry: false, title: "The branches do not fit together" },
  "branch.not_found": { status: 404, retry: false, title: "No such branch" },
  "pull_request.not_found": { status: 404, retry: false, title: "No such pull request" },
  "provider.unavailable": { status: 422, retry: false, title: "The provider is not available here" },
  "runtime.unavailable": { status: 422, retry: false, title: "The runtime is not available here" },
  "event.not_found": { status: 404, retry: false, title: "No such event" },
  "event.reserved": { status: 422, retry: false, title: "Only the server writes events of this type or source" },
  "artifact.not_found": { status: 404, retry: false, title: "No such artifact" },
  "artifact.mismatch": { status: 422, retry: false, title: "The bytes do not match the address" },
  "checkpoint.not_found": { status: 404, retry: false, title: "No checkpoint of the files was kept by then" },
  "resume.nothing": { status: 409, retry: false, title: "Nothing is left that could be gone on with" },
  "archive.invalid": { status: 422, retry: false, title: "The archive is damaged" },
  "checkpoint.unreadable": { status: 422, retry: false, title: "The checkpoint cannot be read" },
  "share.not_found": { status: 404, retry: false, title: "No such link" },
  "message.not_found": { status: 404, retry: false, title: "No such message" },
  "permission.not_found": { status: 404, retry: false, title: "No such permission request" },
  "permission.answered": { status: 409, retry: false, title: "The request is answered or closed" },
  "message.illegal_transition": { status: 409, retry: false, title: "The message cannot change to this state" },
  "model.not_configured": { status: 422, retry: false, title: "No model of this vendor is connected" },
  "model.not_allowed": { status: 403, retry: false, title: "This model is not allowed here" },
  "model.timed_out": { status: 504, retry: true, title: "The model's vendor was silent for too long" },
  "model.unavailable": { status: 502, retry: true, title: "The model's vendor does not answer" },
  "budget.exceeded": { status: 402, retry: false, title: "The budget is used up" },
  "budget.busy": { status: 429, retry: true, title: "What is left of the budget is held for calls under way" },
  "alert.not_found": { status: 404, retry: false, title: "No such alert" },
  "alert_rule.not_found": { status: 404, retry: false, title: "No such alert rule" },
  "diagnostic.not_found": { status: 404, retry: false, title: "No such diagnosis" },
  "anomaly.not_found": { status: 404, retry: false, title: "No such anomaly" },
  "analysis.not_found": { status: 404, retry: false, title: "No such analysis" },
  "action.not_found": { status: 404, retry: false, title: "No such action" },
  "action.reverted": { status: 409, retry: false, title: "The action was taken back already" },
  "budget.not_found": { status: 404, retry: false, title: "No such budget" },
  "price.not_found": { status: 404, retry: false, title: "No such price" },
  "webhook.not_found": { status: 404, retry: false, title: "No such webhook" },
  "webhook.refused": { status: 422, retry: false, title: "Webhooks are not sent to this address" },
  "delivery.not_found": { status: 404, retry: false, title: "No such delivery" },
  "database.unavailable": { status: 503, retry: true, title: "The database does not answer" },
  "database.start_failed": { status: 503, retry: false, title: "The embedded database did not start" },
  "blob.unavailable": { status: 503, retry: true, title: "The artifact store cannot write" },
  "storage.not_shared": { status: 500, retry: false, title: "The replicas do not share their files" },
  "data_dir.in_use": { status: 503, retry: false, title: "The data directory belongs to another server" },
  "data_dir.newer": {
    status: 503,
    retry: false,
    title: "The data directory was written by another PostgreSQL version",
  },
  "data_dir.full": { status: 503, retry: true, title: "The disk is full" },
  "migration.changed": { status: 503, retry: false, title: "An applied migration was changed" },
  "migration.newer": { status: 503, retry: false, title: "The database was migrated by a newer version" },
  "config.invalid": { status: 503, retry: false, title: "The configuration is not valid" },
  "server.not_ready": { status: 503, retry: true, title: "The server is not ready" },
  "server.failed": { status: 500, retry: true, title: "The server failed; this is a bug" },
} as const satisfies Record<string, ErrorRule>;

export type ErrorCode = keyof typeof ERRORS;

export interface FieldComplaint {
  readonly path: string;
  readonly message: string;
}

/** An expected refusal at the edge of a process. Anything else that is thrown is a bug. */
export class AppError extends Error {
  readonly code: ErrorCode;
  readonly fields: readonly FieldComplaint[];
  readonly retryAfterSeconds: number | undefined;

  constructor(
    code: ErrorCode,
    detail?: string,
    more: { cause?: unknown; fields?: readonly FieldComplaint[]; retryAfterSeconds?: number } = {},
  ) {
    super(detail ?? ERRORS[code].title, more.cause === undefined ? undefined : { cause: more.cause });
    this.name = "AppError";
    this.code = code;
    this.fields = more.fields ?? [];
    this.retryAfterSeconds = more.retryAfterSeconds;
  }
}

export const isErrorCode = (value: string): value is ErrorCode => Object.hasOwn(ERRORS, value);
