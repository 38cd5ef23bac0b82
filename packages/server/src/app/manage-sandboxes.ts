/** Sandboxes: created, listed, given a new worker. */
import {
  AppError,
  SandboxId,
  TERMINAL_SANDBOX_STATES,
  type CreatedSandbox,
  type Fork,
  type NewSandbox,
  type ProjectId,
  type Provider,
  type Sandbox,
  type SandboxState,
} from "@drover/contract";
import type { Db } from "../ports/db.ts";
import type { EventRow } from "../store/events.ts";
import { insertAudit } from "../store/audit.ts";
import { requeueUnseen } from "../store/messages.ts";
import { loadProject } from "../store/projects.ts";
import { findBranchPull } from "../store/pull-requests.ts";
import { noteResumeFromItself, settleRemembered } from "../store/resume.ts";
import {
  advanceGeneration,
  insertSandboxToken,
  countSandboxes,
  listSandboxes,
  loadSandbox,
  loadSandboxProject,
  lockSandboxes,
  type SandboxRow,
} from "../store/sandboxes.ts";
import { loadTask } from "../store/tasks.ts";
import { requireRuntime } from "./agent-packages.ts";
import { copyUnread } from "./copy-unread.ts";
import { createOnce, type RequestKey } from "./create-once.ts";
import { parseCursor, refuseCursor } from "./cursor.ts";
import { hashSecret, type Person } from "./credential.ts";
import type { Deps } from "./deps.ts";
import { draftSandboxEvent } from "./event-log.ts";
import { insertSandboxRow } from "./insert-sandbox.ts";
import { pickProject } from "./manage-projects.ts";
import { requireReadable } from "./repo-address.ts";
import { inheritSandbox, prepareResume, type ResumedSandbox } from "./resume-run.ts";
import { toSandbox, viewSandbox, viewSandboxes } from "./view-sandbox.ts";

const toWorkerEnv = (deps: Deps, id: SandboxId, token: string) => ({
  SANDBOX_ID: id,
  CALLBACK_URL: deps.address(),
  SANDBOX_TOKEN: token,
});

export async function createSandbox(
  deps: Deps,
  actor: Person,
  asked: NewSandbox,
  key: RequestKey | undefined,
  { signal = new AbortController().signal, atSeq }: { signal?: AbortSignal; atSeq?: number | undefined } = {},
): Promise<CreatedSandbox> {
  if (asked.repo !== undefined) requireReadable(actor, asked.repo);
  const inherited = await inheritSandbox(deps, actor, asked, atSeq);
  const task = inherited.task_id === undefined ? undefined : await loadTask.maybe(deps.db, inherited.task_id);
  const mine = actor.grant.projectId;
  const projectId = await pickProject(deps, actor, inherited.project_id ?? mine ?? task?.project_id);
  if (task !== undefined && task.project_id !== projectId)
    throw new AppError("request.invalid", "task_id is not a task of this project", {
      fields: [{ path: "task_id", message: "is not a task of this project" }],
    });
  const input = { ...(await loadDefaults(deps, projectId)), ...inherited };
  const provider = input.provider ?? (deps.config.daytonaExecution ? "daytona" : deps.config.provider);
  // Opened before anything is stored: an unavailable provider is an error of this request.
  if (provider !== "external") await deps.providers.open(provider);
  if (provider !== "external") await requireRuntime(deps, input.runtime);
  const created = await createOnce(deps, key, (tx, append) =>
    insertOne(tx, deps, actor, projectId, { ...input, provider }, append),
  );
  deps.wake("provision-sandboxes");
  // Where a provider makes the sandbox this is a step of making it.
  if (provider === "external") await prepareOwn(deps, created.id, signal);
  return created;
}

/** What a request does not say, its project may; what neither says is the installation's. */
async function loadDefaults(deps: Deps, projectId: ProjectId): Promise<NewSandbox> {
  const { settings } = await loadProject.one(deps.db, projectId);
  const { provider, runtime = deps.config.sandboxRuntime, model, network, permission_mode } = settings;
  const defaults = { provider, runtime, model, network, permission_mode };
  return Object.fromEntries(Object.entries(defaults).filter(([, value]) => value !== undefined));
}

async function prepareOwn(deps: Deps, id: SandboxId, signal: AbortSignal): Promise<void> {
  const row = await loadSandbox.maybe(deps.db, id);
  if (row !== undefined) await prepareResume(deps, row, signal);
}

/** A copy of a run as of a place in its log, which goes on by itself. */
export function forkSandbox(
  deps: Deps,
  actor: Person,
  id: SandboxId,
  { at_seq, prompt, fresh }: Fork,
  key: RequestKey | undefined,
  signal: AbortSignal,
): Promise<CreatedSandbox> {
  const input = { resume_from: id, resume_fresh: fresh, ...(prompt === undefined ? {} : { prompt }) };
  return createSandbox(deps, actor, input, key, { signal, atSeq: at_seq });
}

async function insertOne(
  tx: Db,
  deps: Deps,
  actor: Person,
  projectId: ProjectId,
  input: ResumedSandbox & { readonly provider: Provider },
  append: Parameters<Parameters<typeof createOnce>[2]>[1],
): Promise<CreatedSandbox> {
  const request = { createdBy: actor.tokenId, source: "user", projectId, input } as const;
  const { row, drafts: made } = await insertSandboxRow(tx, deps, request);
  const from = input.resume_at_seq === undefined ? SandboxId.safeParse(input.resume_from).data : undefined;
  // A copy of an earlier moment is another run: what was said to the first stays with it.
  const drafts = from === undefined ? made : [...made, ...(await copyUnread(tx, deps, from, row))];
  if (input.provider !== "external") return toNew(toAppended(row, await append(drafts)), deps);
  const token = deps.ids.secret("sandbox");
  await insertSandboxToken(tx, hashSecret(token), row.id, row.generation, "worker");
  const appended = await append(drafts);
  return {
    ...toNew({ ...toAppended(row, appended), state: "creating", state_cause: "external" }, deps),
    worker_token: token,
    worker_env: toWorkerEnv(deps, row.id, token),
  };
}

/** Its branch is as new as itself: nobody has asked for it to be merged. */
const toNew = (row: SandboxRow, deps: Deps): Sandbox => ({ ...toSandbox(row, deps), pull_request: null });

/** The row as its own first events left it, so that a new sandbox is told as the next read would. */
function toAppended(row: SandboxRow, events: readonly EventRow[]): SandboxRow {
  const last = events.findLast((event) => event.sandbox_id === row.id);
  if (last === undefined) return row;
  return {
    ...row,
    last_seq: last.seq,
    last_sandbox_seq: last.sandbox_seq ?? row.last_sandbox_seq,
    last_event_type: last.event_type,
    last_event_at: last.created_at,
  };
}

export async function getSandbox(deps: Deps, id: SandboxId): Promise<Sandbox> {
  const row = await loadSandbox.maybe(deps.db, id);
  if (row === undefined) throw new AppError("sandbox.not_found");
  return viewSandbox(deps, row);
}

/** With the pull request of its branch. */
export async function readSandbox(deps: Deps, id: SandboxId): Promise<Sandbox> {
  const sandbox = await getSandbox(deps, id);
  const { project_id, branch, repo } = sandbox;
  const pull = branch === null || repo !== null ? undefined : await findBranchPull.maybe(deps.db, project_id, branch);
  if (pull === undefined) return { ...sandbox, pull_request: null };
  const { id: pull_id, number, url, state } = pull;
  return { ...sandbox, pull_request: { id: pull_id, number, url, state } };
}

interface SandboxQuery {
  readonly limit: number;
  readonly cursor?: string | undefined;
  readonly status?: readonly SandboxState[] | undefined;
  readonly project_id?: ProjectId | undefined;
  readonly task_id?: string | undefined;
  readonly runtime?: string | undefined;
  readonly q?: string | undefined;
}

/** A cursor was an item of an earlier page, so it is something the caller may see. */
async function requireSeen(deps: Deps, mine: ProjectId | null, id: SandboxId): Promise<void> {
  const found = await loadSandboxProject.maybe(deps.db, id);
  if (found === undefined || (mine !== null && mine !== found.project_id)) throw refuseCursor();
}

export async function pageSandboxes(deps: Deps, actor: Person, query: SandboxQuery) {
  const mine = actor.grant.projectId;
  if (mine !== null && query.project_id !== undefined && query.project_id !== mine)
    return { items: [], next_cursor: null };
  const before = parseCursor(SandboxId, query.cursor);
  if (before !== undefined) await requireSeen(deps, mine, before);
  const rows = await listSandboxes(deps.db, {
    projectId: query.project_id ?? mine,
    states: query.status,
    taskId: query.task_id,
    runtime: query.runtime,
    text: query.q,
    before,
    limit: query.limit + 1,
  });
  const items = rows.slice(0, query.limit);
  return {
    items: await viewSandboxes(deps, items),
    next_cursor: rows.length > query.limit ? (items.at(-1)?.id ?? null) : null,
  };
}

/** For the filters of a list: how many stand behind each. */
export async function countByState(
  deps: Deps,
  actor: Person,
  query: {
    readonly project_id?: ProjectId | undefined;
    readonly runtime?: string | undefined;
    readonly q?: string | undefined;
  },
) {
  const mine = actor.grant.projectId;
  if (mine !== null && query.project_id !== undefined && query.project_id !== mine) return { total: 0, states: {} };
  const rows = await countSandboxes(deps.db, query.project_id ?? mine, query.runtime, query.q);
  return {
    total: rows.reduce((sum, row) => sum + row.count, 0),
    states: Object.fromEntries(rows.map((row) => [row.state, row.count])),
  };
}

async function lockOne(tx: Db, id: SandboxId): Promise<SandboxRow> {
  const [row] = await lockSandboxes(tx, [id]);
  if (row === undefined) throw new AppError("sandbox.not_found");
  return row;
}

/** A new generation: the old worker is fenced and the new one gets again what no model has seen. */
export async function replaceWorker(
  deps: Deps,
  actor: Person,
  id: SandboxId,
  key: RequestKey | undefined,
  signal: AbortSignal,
): Promise<CreatedSandbox> {
  const created = await createOnce(deps, key, async (tx, append) => {
    const row = await lockOne(tx, id);
    if (row.provider !== "external")
      throw new AppError("sandbox.illegal_transition", "only sandboxes of provider external are given workers by hand");
    if (row.closed_at !== null || TERMINAL_SANDBOX_STATES.has(row.state))
      throw new AppError("sandbox.terminal", `the sandbox is ${row.state}`);
    const token = deps.ids.secret("sandbox");
    const generation = row.generation + 1;
    await advanceGeneration(tx, id);
    await insertSandboxToken(tx, hashSecret(token), id, generation, "worker");
    await settleRemembered(tx, id);
    await requeueUnseen(tx, id);
    await noteResumeFromItself(tx, id);
    await insertAudit(tx, {
      actor: actor.tokenId,
      action: "sandbox.replace_worker",
      target: id,
      project_id: row.project_id,
      detail: { generation },
      request_id: null,
    });
    const next = { ...row, generation };
    const appended = await append([
      draftSandboxEvent(deps.ids, next, { eventType: "WORKER_REPLACED", data: { generation }, source: "user" }),
    ]);
    return {
      ...toSandbox(toAppended(next, appended), deps),
      worker_token: token,
      worker_env: toWorkerEnv(deps, id, token),
    };
  });
  deps.credentials.forget();
  await prepareOwn(deps, id, signal);
  return created;
}
