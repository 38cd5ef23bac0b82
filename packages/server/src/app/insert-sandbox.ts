/** Stores a new sandbox, asked for by a person or made for a task: the same row either way. */
import { resolveSizes, resolveSources } from "@drover/core";
import type { NewSandbox, ProjectId, Provider } from "@drover/contract";
import type { Db } from "../ports/db.ts";
import { insertAudit } from "../store/audit.ts";
import { findRepository } from "../store/git.ts";
import { insertSandbox, type SandboxRow } from "../store/sandboxes.ts";
import { loadTask } from "../store/tasks.ts";
import type { Deps } from "./deps.ts";
import { draftSandboxEvent, draftTransition, type EventDraft } from "./event-log.ts";
import { limitSandbox } from "./manage-budgets.ts";
import { requireMoney } from "./require-money.ts";
import { toSandboxBranch } from "./sandbox-branch.ts";

export interface Request {
  /** Who is noted as its maker: a token, or a part of the server. */
  readonly createdBy: string;
  readonly source: "user" | "server";
  readonly projectId: ProjectId;
  /** Where it pushes to; one of its own, if the project has a repository, when nothing is said. */
  readonly branch?: string | null;
  readonly input: NewSandbox & { readonly provider: Provider };
}

/** Nothing has to be provisioned for an external one: it is `creating` at once. */
export async function insertSandboxRow(
  tx: Db,
  deps: Deps,
  { createdBy, source, projectId, branch, input }: Request,
): Promise<{ readonly row: SandboxRow; readonly drafts: readonly EventDraft[] }> {
  const {
    project_id: _project,
    task_id,
    prompt,
    provider,
    runtime,
    model,
    repo,
    base_branch,
    labels,
    network,
    resources,
    ...spec
  } = input;
  await requireMoney(tx, projectId, task_id ?? null);
  const id = deps.ids.sandbox(task_id);
  const isHosted = branch === undefined && repo === undefined && (await findRepository.one(tx, projectId)).is_there;
  const row = await insertSandbox.one(tx, {
    id,
    project_id: projectId,
    task_id: task_id ?? null,
    provider,
    runtime: runtime ?? null,
    model: model ?? null,
    prompt: prompt ?? null,
    repo: repo ?? null,
    base_branch: base_branch ?? null,
    branch: isHosted ? toSandboxBranch(id) : (branch ?? null),
    labels: labels ?? {},
    spec: JSON.parse(JSON.stringify(spec)),
    resources: { ...resolveSizes(resources ?? {}, deps.resources), ...resolveSources(provider, spec, deps.resources) },
    network: network ?? "allowlist",
    created_by: createdBy,
  });
  await insertAudit(tx, {
    actor: createdBy,
    action: "sandbox.create",
    target: row.id,
    project_id: projectId,
    detail: { provider: row.provider },
    request_id: null,
  });
  if (input.budget_usd !== undefined) await limitSandbox(tx, deps, row, input.budget_usd);
  const task = row.task_id === null ? undefined : await loadTask.maybe(tx, row.task_id);
  const spawned = draftSandboxEvent(deps.ids, row, {
    eventType: "SPAWNED",
    data: {
      sandbox_id: row.id,
      task_id: row.task_id,
      ticket_id: task?.ticket_id ?? null,
      agent_id: row.id,
      phase_id: task?.phase_id ?? null,
      provider: row.provider,
      runtime: row.runtime,
    },
    source,
  });
  if (provider !== "external") return { row, drafts: [spawned] };
  const created = draftTransition(deps.ids, row, { from: "pending", to: "creating", cause: "external" }, null);
  return { row, drafts: [spawned, created] };
}
