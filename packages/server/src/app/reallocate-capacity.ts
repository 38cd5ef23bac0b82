/** Moves room for tasks from one agent's project to another's: what one may run at once less, the other may run more. */
import { AppError, ProjectId, SandboxId } from "@drover/contract";
import { loadProject, type ProjectRow } from "../store/projects.ts";
import type { Person } from "./credential.ts";
import type { Deps } from "./deps.ts";
import { locateSandbox } from "./locate.ts";
import { changeProject } from "./manage-projects.ts";

/** An agent is a sandbox; a project may be named in its place. */
async function findProject(deps: Deps, agent: string): Promise<ProjectRow> {
  const sandbox = SandboxId.safeParse(agent).data;
  const id = sandbox === undefined ? ProjectId.safeParse(agent).data : await locateSandbox(deps.db, sandbox);
  const project = id === undefined ? undefined : await loadProject.maybe(deps.db, id);
  if (project === undefined) throw new AppError("sandbox.not_found", `${agent} is no agent and no project`);
  return project;
}

const roomOf = (deps: Deps, { settings }: ProjectRow): number =>
  settings.max_concurrent_tasks ?? deps.config.maxConcurrentTasksPerProject;

const setRoom = (deps: Deps, actor: Person, id: ProjectId, room: number | null) =>
  changeProject(deps, actor, id, { settings: { max_concurrent_tasks: room } });

export interface Reallocation {
  readonly fromId: ProjectId;
  readonly toId: ProjectId;
  /** As the settings were; null: the configured limit. */
  readonly before: { readonly from: number | null; readonly to: number | null };
  readonly after: { readonly from: number; readonly to: number };
}

export async function moveRoom(
  deps: Deps,
  actor: Person,
  { from, to, capacity }: { readonly from: string; readonly to: string; readonly capacity: number },
): Promise<Reallocation> {
  if (actor.grant.projectId !== null)
    throw new AppError("auth.forbidden", "only an admin of all projects moves capacity between them");
  const [giver, taker] = [await findProject(deps, from), await findProject(deps, to)];
  if (giver.id === taker.id)
    throw new AppError("request.invalid", "both work for the same project: nothing would move");
  const after = { from: roomOf(deps, giver) - capacity, to: roomOf(deps, taker) + capacity };
  if (after.from < 1) throw new AppError("request.invalid", `it has ${roomOf(deps, giver)}, and keeps at least one`);
  await setRoom(deps, actor, giver.id, after.from);
  await setRoom(deps, actor, taker.id, after.to);
  return {
    fromId: giver.id,
    toId: taker.id,
    before: {
      from: giver.settings.max_concurrent_tasks ?? null,
      to: taker.settings.max_concurrent_tasks ?? null,
    },
    after,
  };
}

/** Both as they were. */
export async function moveRoomBack(deps: Deps, actor: Person, { fromId, toId, before }: Omit<Reallocation, "after">) {
  await setRoom(deps, actor, fromId, before.from);
  await setRoom(deps, actor, toId, before.to);
}
