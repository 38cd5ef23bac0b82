/** Projects: created, listed, changed. */
import { hidePassword } from "@drover/core";
import { AppError, ProjectId, type NewProject, type Project, type ProjectChange } from "@drover/contract";
import type { Db } from "../ports/db.ts";
import { insertAudit } from "../store/audit.ts";
import {
  insertProject,
  listProjects,
  loadDefaultProject,
  loadProject,
  updateProject,
  type ProjectRow,
} from "../store/projects.ts";
import type { Person } from "./credential.ts";
import { createOnce, type RequestKey } from "./create-once.ts";
import { parseCursor } from "./cursor.ts";
import type { Deps } from "./deps.ts";
import { draftEvent, writeWithEvents, type EventDraft } from "./event-log.ts";
import { requireReadable } from "./repo-address.ts";
import { requeue } from "./requeue-tasks.ts";

const toProject = (row: ProjectRow): Project => ({
  ...row,
  repo: row.repo === null ? null : hidePassword(row.repo),
  created_at: row.created_at.toISOString(),
});

const audit = (actor: Person, action: string, row: ProjectRow) => ({
  actor: actor.tokenId,
  action,
  target: row.id,
  project_id: row.id,
  detail: { name: row.name },
  request_id: null,
});

/** What every new project leaves behind, whoever asked for what. */
export async function tellCreated(
  tx: Db,
  deps: Pick<Deps, "ids">,
  actor: Person,
  row: ProjectRow,
): Promise<EventDraft> {
  await insertAudit(tx, audit(actor, "project.create", row));
  const entity = { type: "project", id: row.id, projectId: row.id };
  return draftEvent(deps.ids, entity, { eventType: "project.created", data: { name: row.name }, source: "user" });
}

export async function createProject(
  deps: Deps,
  actor: Person,
  input: NewProject,
  key: RequestKey | undefined,
): Promise<Project> {
  if (input.repo !== undefined) requireReadable(actor, input.repo);
  return createOnce(deps, key, async (tx, append) => {
    const draft = {
      id: deps.ids.project(),
      name: input.name,
      description: input.description ?? null,
      repo: input.repo ?? null,
      is_default: false,
      autonomous_execution_enabled: input.autonomous_execution_enabled ?? false,
      settings: input.settings ?? {},
    };
    const row = await insertProject.maybe(tx, draft);
    if (row === undefined) throw new AppError("project.exists", `a project is called ${input.name} already`);
    await append([await tellCreated(tx, deps, actor, row)]);
    return toProject(row);
  });
}

const UNIQUE_VIOLATION = "23505";

/** Two that take one name in the same moment: the later one runs into the index. */
const refuseTakenName = (name: string) => (error: unknown) => {
  if ((error as { code?: unknown }).code !== UNIQUE_VIOLATION) throw error;
  throw new AppError("project.exists", `a project is called ${name} already`, { cause: error });
};

export async function changeProject(deps: Deps, actor: Person, id: ProjectId, change: ProjectChange): Promise<Project> {
  const before = (await loadProject.maybe(deps.db, id))?.repo ?? null;
  // What was shown and comes back is no change: nobody was shown the password.
  const isShown = before !== null && change.repo === hidePassword(before);
  if (!isShown && typeof change.repo === "string") requireReadable(actor, change.repo);
  const changed = await writeWithEvents(deps, async (tx, append) => {
    const wanted = { name: undefined, description: undefined, ...change, repo: isShown ? undefined : change.repo };
    const row = await updateProject.maybe(tx, id, wanted).catch(refuseTakenName(change.name ?? ""));
    if (row === undefined) throw new AppError("project.exists", `a project is called ${change.name ?? ""} already`);
    await insertAudit(tx, audit(actor, "project.update", row));
    await append([
      draftEvent(
        deps.ids,
        { type: "project", id: row.id, projectId: row.id },
        { eventType: "project.updated", data: { name: row.name }, source: "user" },
      ),
    ]);
    return toProject(row);
  });
  // What a project lets run, and how much of it, may be other now.
  await requeue(deps, { projectId: id });
  return changed;
}

export async function getProject(deps: Deps, id: ProjectId): Promise<Project> {
  const row = await loadProject.maybe(deps.db, id);
  if (row === undefined) throw new AppError("project.not_found");
  return toProject(row);
}

export async function pageProjects(deps: Deps, actor: Person, query: { limit: number; cursor?: string | undefined }) {
  const rows = await listProjects(
    deps.db,
    actor.grant.projectId,
    parseCursor(ProjectId, query.cursor),
    query.limit + 1,
  );
  const items = rows.slice(0, query.limit);
  return { items: items.map(toProject), next_cursor: rows.length > query.limit ? (items.at(-1)?.id ?? null) : null };
}

/** The project of a request that names none: the only one the caller has, else the default one. */
export async function pickProject(
  deps: Pick<Deps, "db">,
  actor: Person,
  asked: ProjectId | undefined,
): Promise<ProjectId> {
  const chosen = asked ?? actor.grant.projectId ?? (await loadDefaultProject.one(deps.db)).id;
  const isHidden = actor.grant.projectId !== null && actor.grant.projectId !== chosen;
  if (isHidden || (await loadProject.maybe(deps.db, chosen)) === undefined) throw new AppError("project.not_found");
  return chosen;
}

export async function ensureDefaultProject(deps: Pick<Deps, "db" | "ids">): Promise<void> {
  await insertProject(deps.db, {
    id: deps.ids.project(),
    name: "default",
    description: "Work that belongs to no other project.",
    repo: null,
    is_default: true,
  });
}
