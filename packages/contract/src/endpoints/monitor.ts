/** What the monitor measures, finds and does on demand. */
import { z } from "zod";
import { endpoint } from "../endpoint.ts";
import { SandboxId } from "../ids.ts";
import {
  Anomaly,
  AnomalyId,
  AnomalySeverity,
  EmergencyLook,
  Metrics,
  MetricsQuery,
  MonitorStatus,
  RunLook,
} from "../resources/monitor.ts";
import { page, Paging } from "./page.ts";

export const monitorEndpoints = {
  getMetrics: endpoint({
    method: "GET",
    path: "/monitor/metrics",
    access: "person",
    verb: "read",
    summary: "Figures over time, for charts; the last hour unless told otherwise.",
    query: MetricsQuery,
    reply: Metrics,
  }),
  listAnomalies: endpoint({
    method: "GET",
    path: "/monitor/anomalies",
    access: "person",
    verb: "read",
    summary: "Runs that behaved unlike the others, newest first.",
    query: z.strictObject({
      ...Paging,
      hours: z.coerce.number().positive().max(8_784).default(24),
      severity: AnomalySeverity.optional(),
      sandbox_id: SandboxId.optional(),
    }),
    reply: page(Anomaly),
  }),
  getAnomaly: endpoint({
    method: "GET",
    path: "/monitor/anomalies/:anomaly_id",
    access: "person",
    verb: "read",
    summary: "One anomaly: its score, what makes it, and who has seen it.",
    params: z.object({ anomaly_id: AnomalyId }),
    reply: Anomaly,
  }),
  acknowledgeAnomaly: endpoint({
    method: "POST",
    path: "/monitor/anomalies/:anomaly_id/acknowledge",
    access: "person",
    verb: "operate",
    summary: "Say that somebody has seen it.",
    params: z.object({ anomaly_id: AnomalyId }),
    reply: Anomaly,
  }),
  getMonitorStatus: endpoint({
    method: "GET",
    path: "/monitor/intelligent/status",
    access: "person",
    verb: "read",
    summary: "Which passes of supervision run here, how often, and how well.",
    reply: MonitorStatus,
  }),
  analyseNow: endpoint({
    method: "POST",
    path: "/monitor/intelligent/analyze/:sandbox_id",
    access: "person",
    verb: "operate",
    summary: "Look at a run now; with force the judge is asked even if it was asked just before.",
    params: z.object({ sandbox_id: SandboxId }),
    query: z.strictObject({
      force: z
        .enum(["true", "false"])
        .default("false")
        .transform((word) => word === "true"),
    }),
    reply: RunLook,
  }),
  analyseInEmergency: endpoint({
    method: "POST",
    path: "/monitor/intelligent/emergency",
    access: "person",
    verb: "operate",
    summary: "Look at several runs now, the judge included.",
    body: EmergencyLook,
    reply: z.object({ items: z.array(RunLook), next_cursor: z.null() }),
  }),
} as const;
