/** Rules over measured figures, and what fires. */
import { z } from "zod";
import { ProjectId } from "../ids.ts";
import { Timestamp } from "../time.ts";
import { MetricName } from "./monitor.ts";

export const AlertRuleId = z
  .string()
  .regex(/^rule-[0-9a-f]{12}$/)
  .brand<"AlertRuleId">();
export type AlertRuleId = z.infer<typeof AlertRuleId>;

export const AlertId = z
  .string()
  .regex(/^alr-[0-9a-f]{12}$/)
  .brand<"AlertId">();
export type AlertId = z.infer<typeof AlertId>;

export const AlertSeverity = z.enum(["warning", "critical"]);

const WebhookUrl = z.url({ protocol: /^https?$/ }).max(2_000);

/** `log`: the server's log. `desktop`: a notification in browsers that are open. `webhook`: a signed POST. */
const Channel = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("log") }),
  z.strictObject({ kind: z.literal("desktop") }),
  z.strictObject({ kind: z.literal("webhook"), url: WebhookUrl }),
]);
export type AlertChannel = z.infer<typeof Channel>;

const Seconds = z.int().nonnegative().max(604_800);

const RuleFields = {
  name: z.string().trim().min(1).max(200),
  metric: MetricName,
  comparison: z.enum(["above", "below"]),
  threshold: z.number().min(-1e12).max(1e12),
  /** How long the condition must hold before it fires. */
  for_seconds: Seconds,
  /** After one has fired nobody is told of the next for so long. */
  cool_down_seconds: Seconds,
  severity: AlertSeverity,
  channels: z.array(Channel).max(10),
  enabled: z.boolean(),
};

/** Signs webhooks, as Standard Webhooks says; kept sealed and never told. */
const Secret = z.string().regex(/^whsec_[A-Za-z0-9+/=]{24,200}$/, "is whsec_ and 24-200 characters of base64");

export const NewAlertRule = z.strictObject({
  ...RuleFields,
  project_id: ProjectId.optional(),
  for_seconds: Seconds.default(0),
  cool_down_seconds: Seconds.default(300),
  severity: AlertSeverity.default("warning"),
  channels: RuleFields.channels.default([{ kind: "log" }, { kind: "desktop" }]),
  enabled: z.boolean().default(true),
  secret: Secret.optional(),
});
export type NewAlertRule = z.infer<typeof NewAlertRule>;

export const AlertRuleChange = z
  .strictObject({ ...RuleFields, secret: Secret.nullable() })
  .partial()
  .refine((change) => Object.keys(change).length > 0, "names nothing to change");
export type AlertRuleChange = z.infer<typeof AlertRuleChange>;

export const AlertRule = z.object({
  id: AlertRuleId,
  project_id: ProjectId.nullable(),
  ...RuleFields,
  has_secret: z.boolean(),
  created_by: z.string(),
  created_at: Timestamp,
  updated_at: Timestamp,
});
export type AlertRule = z.infer<typeof AlertRule>;

export const AlertState = z.enum(["firing", "resolved"]);

export const Alert = z.object({
  id: AlertId,
  rule_id: AlertRuleId,
  name: z.string(),
  project_id: ProjectId.nullable(),
  metric: MetricName,
  severity: AlertSeverity,
  state: AlertState,
  /** As it was when it fired. */
  value: z.number(),
  threshold: z.number(),
  /** It fired within the cool-down of the one before: nobody was told. */
  is_quiet: z.boolean(),
  started_at: Timestamp,
  resolved_at: Timestamp.nullable(),
  acknowledged_at: Timestamp.nullable(),
  acknowledged_by: z.string().nullable(),
  /** What went to webhooks. */
  deliveries: z.array(
    z.object({
      kind: z.enum(["fired", "resolved"]),
      url: z.string(),
      status: z.enum(["pending", "delivered", "failed"]),
      attempts: z.int().nonnegative(),
      error: z.string().nullable(),
    }),
  ),
});
export type Alert = z.infer<typeof Alert>;
