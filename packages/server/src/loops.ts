/** The table of background passes; `main.ts` starts it. */
import { applyRetentionOnce } from "./app/apply-retention.ts";
import { advanceTicketsOnce } from "./app/advance-tickets.ts";
import { deliverWebhooksOnce } from "./app/deliver-webhooks.ts";
import { deliverTicketsOnce } from "./app/deliver-ticket.ts";
import type { Deps } from "./app/deps.ts";
import { dispatchTasksOnce } from "./app/dispatch-tasks.ts";
import { endStranded } from "./app/end-stranded.ts";
import { exportTracesOnce } from "./app/export-traces.ts";
import { followPullsOnce } from "./app/follow-pulls.ts";
import { followTasksOnce } from "./app/follow-tasks.ts";
import { forgetExpiredOnce } from "./app/forget-expired.ts";
import { joinTasksOnce } from "./app/join-tasks.ts";
import { openCheckpointsOnce } from "./app/open-checkpoints.ts";
import { provisionSandboxesOnce } from "./app/provision-sandboxes.ts";
import { followConversationsOnce } from "./app/receive-agent-events.ts";
import { reapSandboxesOnce } from "./app/reap-sandboxes.ts";
import { reconcileSandboxesOnce } from "./app/reconcile-sandboxes.ts";
import { mendQueueOnce } from "./app/requeue-tasks.ts";
import { takeOverOnce, touchReplicaOnce } from "./app/tend-replicas.ts";
import { tendTasksOnce } from "./app/tend-tasks.ts";
import { watchSandboxesOnce } from "./app/watch-sandboxes.ts";

import { deliverAlertsOnce } from "./app/deliver-alerts.ts";
import { detectBlockingOnce, diagnoseTicketsOnce } from "./app/diagnose-tickets.ts";
import { findAnomaliesOnce } from "./app/find-anomalies.ts";
import { measureOnce } from "./app/measure.ts";
import { runConductorOnce } from "./app/run-conductor.ts";
import { runGuardianOnce } from "./app/run-guardian.ts";
import { superviseRunsOnce } from "./app/supervise-runs.ts";

export interface LoopRow {
  readonly name: string;
  /** A number, or a setting that says it. */
  readonly everyMs: number | ((config: Deps["config"]) => number);
  readonly pass: (deps: Deps, signal: AbortSignal) => Promise<unknown>;
  /** Events, of whichever replica, after which it runs at once: stored types, or what they begin with. */
  readonly wakeOn?: readonly string[];
  /** One replica does it for all, whoever comes first. */
  readonly byTurns?: true;
  /** Left out where ORCHESTRATOR_ENABLED is false: other processes do it. */
  readonly isOrchestration?: true;
  /** Part of supervision, which tells how it does. */
  readonly isMonitoring?: true;
}

export const LOOPS: readonly LoopRow[] = [
  { name: "touch-replica", everyMs: 2_000, pass: touchReplicaOnce },
  { name: "take-over", everyMs: 10_000, pass: takeOverOnce },
  { name: "forget-expired", everyMs: 60_000, pass: forgetExpiredOnce },
  { name: "reconcile-sandboxes", everyMs: 60_000, pass: reconcileSandboxesOnce },
  { name: "provision-sandboxes", everyMs: 1_000, pass: provisionSandboxesOnce },
  { name: "watch-sandboxes", everyMs: 5_000, pass: watchSandboxesOnce },
  {
    name: "supervise-runs",
    isMonitoring: true,
    everyMs: ({ idleCheckIntervalSeconds }) => idleCheckIntervalSeconds * 1_000,
    pass: superviseRunsOnce,
  },
  {
    name: "run-guardian",
    isMonitoring: true,
    everyMs: ({ guardianIntervalSeconds }) => guardianIntervalSeconds * 1_000,
    pass: runGuardianOnce,
  },
  {
    name: "run-conductor",
    isMonitoring: true,
    byTurns: true,
    everyMs: ({ conductorIntervalSeconds }) => conductorIntervalSeconds * 1_000,
    pass: runConductorOnce,
  },
  {
    name: "measure",
    isMonitoring: true,
    everyMs: ({ healthCheckIntervalSeconds }) => healthCheckIntervalSeconds * 1_000,
    pass: measureOnce,
  },
  { name: "find-anomalies", isMonitoring: true, byTurns: true, everyMs: 60_000, pass: findAnomaliesOnce },
  { name: "deliver-alerts", isMonitoring: true, everyMs: 5_000, pass: deliverAlertsOnce },
  {
    name: "diagnose-tickets",
    isMonitoring: true,
    byTurns: true,
    isOrchestration: true,
    everyMs: 60_000,
    pass: diagnoseTicketsOnce,
  },
  {
    name: "detect-blocking",
    isMonitoring: true,
    byTurns: true,
    isOrchestration: true,
    everyMs: 300_000,
    pass: detectBlockingOnce,
  },
  { name: "reap-sandboxes", everyMs: 5_000, pass: reapSandboxesOnce },
  { name: "retention", everyMs: 3_600_000, pass: applyRetentionOnce },
  { name: "follow-conversations", everyMs: 5_000, pass: followConversationsOnce },
  { name: "open-checkpoints", everyMs: 2_000, pass: openCheckpointsOnce },
  { name: "export-traces", everyMs: 5_000, wakeOn: ["TERMINATED"], pass: exportTracesOnce },
  { name: "deliver-webhooks", everyMs: 1_000, pass: deliverWebhooksOnce },
  { name: "follow-tasks", isOrchestration: true, everyMs: 1_000, wakeOn: ["STATE_CHANGED"], pass: followTasksOnce },
  {
    name: "tend-tasks",
    isOrchestration: true,
    everyMs: 1_000,
    wakeOn: ["TASK_FAILED", "TASK_CANCELLED"],
    pass: tendTasksOnce,
  },
  { name: "join-tasks", isOrchestration: true, everyMs: 1_000, wakeOn: ["TASK_COMPLETED"], pass: joinTasksOnce },
  {
    name: "dispatch-tasks",
    isOrchestration: true,
    everyMs: 1_000,
    wakeOn: ["TASK_", "TASKS_", "TICKET_"],
    pass: dispatchTasksOnce,
  },
  {
    name: "advance-tickets",
    isOrchestration: true,
    everyMs: 1_000,
    wakeOn: ["TASK_STARTED", "TASK_COMPLETED", "TASK_PERMANENTLY_FAILED"],
    pass: advanceTicketsOnce,
  },
  {
    name: "deliver-tickets",
    isOrchestration: true,
    everyMs: 1_000,
    wakeOn: ["TICKET_", "TASK_COMPLETED", "TASK_FAILED", "TASK_CANCELLED"],
    pass: deliverTicketsOnce,
  },
  { name: "end-stranded", isOrchestration: true, everyMs: 60_000, pass: (deps) => endStranded(deps, null) },
  { name: "mend-queue", isOrchestration: true, everyMs: 60_000, pass: mendQueueOnce },
  { name: "follow-pulls", isOrchestration: true, everyMs: 30_000, wakeOn: ["PR_OPENED"], pass: followPullsOnce },
];
