/** What workers tell of an agent: each type, who of the worker says it, and what it always says beside the turn; null where nobody knows. */
import type { EventSource } from "./event.ts";

interface WorkerEvent {
  readonly source: Extract<EventSource, "agent" | "worker">;
  readonly fields: readonly string[];
}

const agent = (...fields: readonly string[]): WorkerEvent => ({ source: "agent", fields });
const worker = (...fields: readonly string[]): WorkerEvent => ({ source: "worker", fields });

const CALL = ["tool", "tool_use_id", "input", "event_subtype"];
const DONE = ["tool", "tool_use_id", "tool_input", "tool_response"];
/** The server opens the pull request, after the worker's last word on it. */
const PULL = ["pr_created", "pr_url", "pr_number", "ci_status"];
const ITERATION = [
  "iteration_num",
  "successful_iterations",
  "error_count",
  "total_cost_usd",
  "completion_signal_count",
  "elapsed_seconds",
  "last_session_id",
  "validation_passed",
  "tests_passed",
  "code_committed",
  "code_pushed",
  "files_changed",
  ...PULL,
];

/** What other documents know of an agent and is not here stands in docs/EVENTS.md. */
export const WORKER_EVENTS: Readonly<Record<string, WorkerEvent>> = {
  "agent.started": worker(
    "timestamp",
    "sdk",
    "model",
    "task",
    "task_description_length",
    "ticket_title",
    "resumed_session_id",
    "is_resuming",
    "fork_session",
  ),
  "agent.heartbeat": worker("timestamp", "status", "event_count"),
  "agent.system_message": agent("metadata"),
  "agent.assistant_message": agent("model", "stop_reason", "block_count"),
  "agent.thinking": agent("content", "thinking_type"),
  "agent.message": agent("content", "content_length"),
  "agent.tool_use": agent(...CALL),
  "agent.tool_result": agent("tool_use_id", "result", "result_truncated", "result_full_length", "is_error"),
  "agent.user_message": agent("content", "content_length"),
  "agent.user_tool_result": agent("tool_use_id", "result", "result_truncated"),
  "agent.tool_completed": agent(...DONE),
  "agent.file_edited": agent(
    "tool_use_id",
    "file_path",
    "change_type",
    "lines_added",
    "lines_removed",
    "diff_preview",
    "full_diff",
    "full_diff_available",
    "full_diff_size",
  ),
  "agent.subagent_invoked": agent(...CALL, "subagent_type", "subagent_description", "subagent_prompt"),
  "agent.subagent_completed": agent(
    ...DONE,
    "subagent_type",
    "description",
    "subagent_prompt",
    "subagent_result",
    "subagent_usage",
    "subagent_cost_usd",
    "subagent_duration_ms",
  ),
  "agent.skill_invoked": agent(...CALL, "skill_name"),
  "agent.skill_completed": agent(...DONE, "skill_name"),
  "agent.message_injected": agent(
    "message_type",
    "content",
    "content_length",
    "sender_id",
    "message_id",
    "intervention_number",
  ),
  "agent.interrupted": agent("reason", "sender_id"),
  "agent.waiting": agent("message"),
  "agent.processing": agent("message_id", "message_type"),
  "agent.turn_complete": agent(
    "num_turns",
    "total_cost_usd",
    "session_id",
    "is_error",
    "duration_ms",
    "duration_api_ms",
  ),
  "agent.completed": agent(
    "success",
    "turns",
    "cost_usd",
    "session_id",
    "stop_reason",
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "final_output",
    "branch_name",
    "agent_type",
    "validation_passed",
    "tests_passed",
    "code_committed",
    "code_pushed",
    "files_changed",
    ...PULL,
  ),
  "agent.failed": agent("error"),
  "agent.error": agent("error"),
  "agent.stream_error": agent("error", "error_type", "final_output_length"),
  "agent.shutdown": worker("reason", "total_turns", "timestamp"),
  "continuous.started": worker(
    "goal",
    "limits",
    "completion_signal",
    "completion_threshold",
    "validation_requirements",
  ),
  "iteration.started": agent("prompt_preview", ...ITERATION),
  "iteration.completion_signal": agent("iteration_num", "signal_count", "threshold"),
  "iteration.validation": agent("iteration_num", "passed", "feedback", "git_status", "errors"),
  "iteration.completed": agent("cost_usd", "output_preview", ...ITERATION),
  "iteration.failed": agent("iteration_num", "error", "error_count"),
  "continuous.completed": agent("stop_reason", ...ITERATION),
};
