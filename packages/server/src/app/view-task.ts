/** A task's row as the wire shows it. */
import { toScore, toScoreWeights } from "@drover/core";
import type { Task } from "@drover/contract";
import type { TaskRow } from "../store/tasks.ts";
import type { Deps } from "./deps.ts";

const iso = (date: Date | null) => date?.toISOString() ?? null;

export function toTask(deps: Pick<Deps, "config" | "clock">, row: TaskRow): Task {
  const now = deps.clock.now();
  return {
    id: row.id,
    project_id: row.project_id,
    ticket_id: row.ticket_id,
    phase_id: row.phase_id,
    task_type: row.task_type,
    title: row.title,
    description: row.description,
    priority: row.priority,
    status: row.status,
    status_reason: row.status_reason,
    score: toScore(row, toScoreWeights(deps.config), now),
    is_ready: row.status === "pending" && row.unmet === 0 && !row.is_held && (row.not_before ?? now) <= now,
    sandbox_id: row.sandbox_id,
    assigned_agent_id: row.sandbox_id,
    conversation_id: row.conversation_id,
    parent_task_id: row.parent_task_id,
    dependencies: { depends_on: row.depends_on },
    owned_files: row.owned_files,
    required_capabilities: row.required_capabilities,
    result: row.result,
    error_message: row.error_message,
    synthesis_context: row.synthesis_context,
    execution_config: row.execution_config,
    retry_count: row.retry_count,
    max_retries: row.max_retries,
    not_before: iso(row.not_before),
    timeout_seconds: row.timeout_seconds,
    deadline_at: iso(row.deadline_at),
    estimated_seconds: row.estimated_seconds,
    validation_enabled: row.validation_enabled,
    validation_iteration: row.validation_iteration,
    last_validation_feedback: row.last_validation_feedback,
    review_done: row.review_done,
    created_at: row.created_at.toISOString(),
    updated_at: row.updated_at.toISOString(),
    claimed_at: iso(row.claimed_at),
    assigned_at: iso(row.assigned_at),
    started_at: iso(row.started_at),
    completed_at: iso(row.completed_at),
  };
}
