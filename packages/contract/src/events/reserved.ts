/** Event types that only the server writes. A worker that sends one is refused. */

const SERVER_EVENT_TYPES = [
  "SPAWNED", "STATE_CHANGED", "TERMINATED", "TERMINATED_IDLE", "WORKER_REPLACED", "MESSAGE_QUEUED", "MESSAGE_STATE_CHANGED",
  "VALIDATION_SANDBOX_SPAWNED", "SANDBOX_SPAWNED", "SANDBOX_TERMINATED_IDLE", "SANDBOX_MESSAGE_QUEUED",
  "sandbox.spawned", "sandbox.failed", "sandbox.terminated", "sandbox.tail_lost", "sandbox.egress",
  "agent.usage", "agent.event",
  "TASK_CREATED", "TASK_ASSIGNED", "TASK_STARTED", "TASK_COMPLETED", "TASK_FAILED", "TASK_CANCELLED", "TASK_STATUS_CHANGED",
  "TASKS_UNBLOCKED", "TASK_DEPENDENCY_UPDATED", "TASK_RETRY_SCHEDULED", "TASK_PERMANENTLY_FAILED",
  "TASK_VALIDATION_REQUESTED", "TASK_VALIDATION_PASSED", "TASK_VALIDATION_FAILED", "CONVERSATION_REGISTERED",
  "TICKET_CREATED", "TICKET_STATUS_CHANGED", "ticket.status_transitioned", "PR_OPENED", "PR_MERGED", "PR_CLOSED",
  "guardian.steering.intervention", "guardian.intervention.started", "guardian.intervention.completed",
  "guardian.intervention.reverted", "guardian.resource.reallocated",
  "monitoring.started", "monitoring.stopped", "monitoring.cycle.failed", "monitoring.conductor.analysis",
  "monitoring.health.check", "monitoring.system.updated",
  "HEARTBEAT_RECEIVED", "HEARTBEAT_MISSED", "AGENT_STATUS_CHANGED", "AGENT_RESTARTED", "RESTART_ESCALATION",
  "diagnostic.triggered", "diagnostic.completed",
  "coordination.join.created", "coordination.synthesis.completed", "coordination.synthesis.failed",
  "cost.recorded", "cost.budget.warning", "cost.budget.exceeded", "budget.created",
  "PREVIEW_READY", "CRITERION_COMPLETED", "project.created", "project.updated", "token.created", "token.revoked",
] as const;

/** The upper-case form that filters also match; two types with one upper form are one type to a subscriber. */
export const toUpperForm = (eventType: string): string => eventType.toUpperCase().replaceAll(/[.-]/g, "_");

const RESERVED: ReadonlySet<string> = new Set(SERVER_EVENT_TYPES.map(toUpperForm));

/** Compared by upper form, so that `message.queued` cannot pass for `MESSAGE_QUEUED` in a subscriber's filter. */
export const isReserved = (eventType: string): boolean => RESERVED.has(toUpperForm(eventType));
