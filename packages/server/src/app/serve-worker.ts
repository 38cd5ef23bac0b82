/** What a worker asks for besides messages: its assignment, and to be known as alive. */
import {
  API_BASE,
  AssignedResume,
  type AgentOptions,
  type Assignment,
  ContinuousOptions,
  type EventReceipt,
  type Evidence,
  type JsonObject,
  parseAgentOptions,
} from "@drover/contract";
import type { SandboxRow } from "../store/sandboxes.ts";
import { loadTask } from "../store/tasks.ts";
import { loadTicket } from "../store/tickets.ts";
import { loadForWorker } from "./current-worker.ts";
import type { Deps } from "./deps.ts";
import type { WorkerIdentity } from "./ingest-events.ts";

/** A sandbox that was given no policy has the installation's. */
function toAgentOptions({ config }: Deps, spec: JsonObject): AgentOptions {
  const given = parseAgentOptions(spec);
  if (given.permission_policy !== undefined || config.permissionPolicy === undefined) return given;
  const deadline_s = config.permissionDeadlineSeconds;
  return { ...given, permission_policy: { decision: config.permissionPolicy, deadline_s, rules: [] } };
}

/** What evidence is asked for, where the request does not say: none of who only looks around, and a push where there is a host. */
function toContinuous({ spec, repo, branch }: SandboxRow): ContinuousOptions | null {
  const { continuous, execution_mode: mode } = spec;
  if (continuous !== true && (typeof continuous !== "object" || continuous === null)) return null;
  const options = ContinuousOptions.parse(continuous === true ? {} : continuous);
  const asked: readonly Evidence[] =
    repo === null && branch !== null ? ["clean", "committed", "pushed"] : ["clean", "committed"];
  return { ...options, require: options.require ?? (mode === "exploration" ? [] : [...asked]) };
}

async function loadTitle({ db }: Deps, taskId: SandboxRow["task_id"]): Promise<string | null> {
  const task = taskId === null ? undefined : await loadTask.maybe(db, taskId);
  const ticket = task === undefined ? undefined : await loadTicket.maybe(db, task.ticket_id);
  return ticket?.title ?? null;
}

export async function getAssignment(deps: Deps, worker: WorkerIdentity): Promise<Assignment> {
  const row = await loadForWorker(deps.db, worker);
  const { script, continuous, budget_usd: budget, timeout_s: timeout } = row.spec;
  return {
    sandbox_id: row.id,
    generation: row.generation,
    task_id: row.task_id,
    ticket_title: await loadTitle(deps, row.task_id),
    prompt: row.prompt,
    runtime: row.runtime ?? "scripted",
    model: row.model,
    branch: row.branch,
    git_path: row.repo === null && row.branch !== null ? `${API_BASE}/git/${row.project_id}.git` : null,
    script: typeof script === "object" && script !== null ? (script as JsonObject) : null,
    agent: toAgentOptions(deps, row.spec),
    continuous: continuous === true || typeof continuous === "object",
    continuous_options: toContinuous(row),
    budget_usd: typeof budget === "number" ? budget : null,
    spent_usd: row.priced_calls === 0 ? null : row.cost_usd,
    timeout_s: typeof timeout === "number" ? timeout : null,
    resume: AssignedResume.safeParse(row.spec["resume"]).data ?? null,
    heartbeat_interval_s: deps.config.heartbeatIntervalSeconds,
    post_completion_s: deps.config.postCompletionSeconds,
  };
}

export async function beat(
  deps: Deps,
  worker: WorkerIdentity,
  body: { status: string; detail?: JsonObject | undefined },
): Promise<EventReceipt> {
  const { turn } = await loadForWorker(deps.db, worker);
  return deps.ingest.one(worker, {
    event_type: "agent.heartbeat",
    event_data: { turn, ...body.detail, status: body.status, timestamp: deps.clock.now().toISOString() },
    source: "worker",
  });
}
