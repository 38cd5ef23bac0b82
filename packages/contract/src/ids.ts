/** The names of things. Ids are checked by shape at every border, so a malformed one never reaches a query. */
import { z } from "zod";

const UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";

export const SandboxId = z
  .string()
  .regex(/^drover-[0-9a-f]{8}-[0-9a-f]{6}$/)
  .brand<"SandboxId">();
export type SandboxId = z.infer<typeof SandboxId>;

export const ProjectId = z
  .string()
  .regex(new RegExp(`^project-${UUID}$`), "is not the id of a project")
  .brand<"ProjectId">();
export type ProjectId = z.infer<typeof ProjectId>;

export const TokenId = z
  .string()
  .regex(/^tok-[0-9a-f]{12}$/)
  .brand<"TokenId">();
export type TokenId = z.infer<typeof TokenId>;

export const ShareId = z
  .string()
  .regex(/^shr-[0-9a-f]{12}$/)
  .brand<"ShareId">();
export type ShareId = z.infer<typeof ShareId>;

export const MessageId = z
  .string()
  .regex(/^msg-[0-9a-f]{12}$/)
  .brand<"MessageId">();
export type MessageId = z.infer<typeof MessageId>;

export const BudgetId = z
  .string()
  .regex(/^bud-[0-9a-f]{12}$/)
  .brand<"BudgetId">();
export type BudgetId = z.infer<typeof BudgetId>;

/** Sorts by time. */
export const CostRecordId = z
  .string()
  .regex(new RegExp(`^${UUID}$`))
  .brand<"CostRecordId">();
export type CostRecordId = z.infer<typeof CostRecordId>;

export const EventId = z
  .string()
  .regex(new RegExp(`^${UUID}$`))
  .brand<"EventId">();
export type EventId = z.infer<typeof EventId>;

export const TaskId = z
  .string()
  .regex(new RegExp(`^${UUID}$`), "is not the id of a task")
  .brand<"TaskId">();
export type TaskId = z.infer<typeof TaskId>;

export const TicketId = z
  .string()
  .regex(new RegExp(`^${UUID}$`), "is not the id of a ticket")
  .brand<"TicketId">();
export type TicketId = z.infer<typeof TicketId>;

export const CommentId = z
  .string()
  .regex(/^comment-[0-9a-f]{12}$/)
  .brand<"CommentId">();
export type CommentId = z.infer<typeof CommentId>;

export const PullRequestId = z
  .string()
  .regex(/^pr-[0-9a-f]{12}$/)
  .brand<"PullRequestId">();
export type PullRequestId = z.infer<typeof PullRequestId>;

export const MergeAttemptId = z
  .string()
  .regex(/^merge-[0-9a-f]{12}$/)
  .brand<"MergeAttemptId">();
export type MergeAttemptId = z.infer<typeof MergeAttemptId>;

export const WebhookId = z
  .string()
  .regex(/^hook-[0-9a-f]{12}$/)
  .brand<"WebhookId">();
export type WebhookId = z.infer<typeof WebhookId>;

/** Sorts by time. */
export const DeliveryId = z
  .string()
  .regex(new RegExp(`^${UUID}$`))
  .brand<"DeliveryId">();
export type DeliveryId = z.infer<typeof DeliveryId>;

/** An artifact is named by the SHA-256 of its bytes. */
export const ArtifactId = z
  .string()
  .regex(/^[0-9a-f]{64}$/)
  .brand<"ArtifactId">();
export type ArtifactId = z.infer<typeof ArtifactId>;
