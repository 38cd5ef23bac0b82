/** Settings of outbound webhooks: what may be reached, how often it is tried. */
import { z } from "zod";
import type { Option } from "./options.ts";

export const WEBHOOK_OPTIONS = {
  webhookAllow: {
    env: "DROVER_WEBHOOK_ALLOW",
    yaml: "webhooks.allow",
    schema: z.string().optional(),
    doc: "Hosts, with commas between and each with its port if not 443, that webhooks may reach although they are private, on this machine or without TLS.",
  },
  webhookRetrySeconds: {
    env: "DROVER_WEBHOOK_RETRY_SECONDS",
    yaml: "webhooks.retry_seconds",
    schema: z.string().regex(/^\d{1,7}(?:,\d{1,7}){0,19}$/, "is a list of seconds"),
    fallback: "5,60,300,1800,7200,18000,36000",
    doc: "How long a delivery that failed waits before its next try; after the last one it has failed.",
  },
  webhookLogDays: {
    env: "DROVER_WEBHOOK_LOG_DAYS",
    yaml: "webhooks.log_days",
    schema: z.coerce.number().positive(),
    fallback: "30",
    doc: "How long deliveries that ended are kept in the log.",
  },
} as const satisfies Record<string, Option>;
