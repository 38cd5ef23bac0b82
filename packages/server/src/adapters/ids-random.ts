/** Ids and secrets from the system's random source. */
import { randomBytes, randomFillSync, randomUUID } from "node:crypto";
import type {
  BudgetId,
  CommentId,
  CostRecordId,
  DeliveryId,
  EventId,
  MessageId,
  ProjectId,
  MergeAttemptId,
  PullRequestId,
  SandboxId,
  ShareId,
  TaskId,
  TicketId,
  TokenId,
  WebhookId,
} from "@drover/contract";
import type { Ids, SecretKind } from "../ports/ids.ts";

const SECRET_PREFIX: Readonly<Record<SecretKind, string>> = {
  user: "drv_u_",
  sandbox: "drv_s_",
  session: "drv_c_",
  login: "drv_l_",
  ticket: "drv_t_",
  share: "drv_w_",
};

const hex = (bytes: number) => randomBytes(bytes).toString("hex");

const pool = Buffer.alloc(16 * 256);
let poolUsed = pool.length;
const HEX: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));
/** The time's part of an id is the same for all of one millisecond. */
let timeMs = 0;
let timeText = "";

/** UUID version 7: 48 bits of milliseconds, then randomness; drawn from a pool because ingest makes thousands a second. */
function uuidByTime(): string {
  if (poolUsed === pool.length) {
    randomFillSync(pool);
    poolUsed = 0;
  }
  const at = poolUsed;
  poolUsed += 16;
  const nowMs = Date.now();
  if (nowMs !== timeMs) {
    timeMs = nowMs;
    const text = nowMs.toString(16).padStart(12, "0");
    timeText = `${text.slice(0, 8)}-${text.slice(8)}-`;
  }
  const pair = (index: number) => HEX[pool[at + index] ?? 0] ?? "";
  return `${timeText}7${pair(6).charAt(1)}${pair(7)}-${HEX[0x80 | ((pool[at + 8] ?? 0) & 0x3f)]}${pair(9)}-${pair(10)}${pair(11)}${pair(12)}${pair(13)}${pair(14)}${pair(15)}`;
}

export const randomIds: Ids = {
  project: () => `project-${randomUUID()}` as ProjectId,
  token: () => `tok-${hex(6)}` as TokenId,
  share: () => `shr-${hex(6)}` as ShareId,
  budget: () => `bud-${hex(6)}` as BudgetId,
  cost: () => uuidByTime() as CostRecordId,
  webhook: () => `hook-${hex(6)}` as WebhookId,
  delivery: () => uuidByTime() as DeliveryId,
  message: () => `msg-${hex(6)}` as MessageId,
  ticket: () => randomUUID() as TicketId,
  task: () => randomUUID() as TaskId,
  join: () => `join-${hex(6)}`,
  sync: () => `sync-${hex(6)}`,
  discovery: () => `discovery-${hex(6)}`,
  comment: () => `comment-${hex(6)}` as CommentId,
  pullRequest: () => `pr-${hex(6)}` as PullRequestId,
  mergeAttempt: () => `merge-${hex(6)}` as MergeAttemptId,
  sandbox: (taskId) => `drover-${taskId?.slice(0, 8) ?? hex(4)}-${hex(3)}` as SandboxId,
  event: () => uuidByTime() as EventId,
  request: () => `req-${hex(8)}`,
  secret: (kind) => SECRET_PREFIX[kind] + randomBytes(32).toString("base64url"),
};
