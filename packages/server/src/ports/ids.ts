/** Names for new things, and secrets. */
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

export type SecretKind = "user" | "sandbox" | "session" | "login" | "ticket" | "share";

export interface Ids {
  project(): ProjectId;
  token(): TokenId;
  share(): ShareId;
  message(): MessageId;
  ticket(): TicketId;
  /** Random from its first digit on: names of sandboxes begin with it. */
  task(): TaskId;
  join(): string;
  sync(): string;
  discovery(): string;
  comment(): CommentId;
  budget(): BudgetId;
  /** Sorts by time. */
  cost(): CostRecordId;
  webhook(): WebhookId;
  /** Sorts by time. */
  delivery(): DeliveryId;
  pullRequest(): PullRequestId;
  mergeAttempt(): MergeAttemptId;
  sandbox(taskId: string | undefined): SandboxId;
  /** Sorts by time. */
  event(): EventId;
  request(): string;
  /** 256 random bits behind a prefix that says what it is. */
  secret(kind: SecretKind): string;
}
