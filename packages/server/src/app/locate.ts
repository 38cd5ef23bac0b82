/** Which project something belongs to, and whether the store answers at all. */
import type { ProjectId, PullRequestId, SandboxId, TaskId, TicketId } from "@drover/contract";
import type { Db } from "../ports/db.ts";
import { loadHead } from "../store/events.ts";
import { loadProject } from "../store/projects.ts";
import { loadPull } from "../store/pull-requests.ts";
import { loadSandboxProject } from "../store/sandboxes.ts";
import { loadTaskProject } from "../store/tasks.ts";
import { loadTicketProject } from "../store/tickets.ts";

const REMEMBER_COUNT = 10_000;
/** A sandbox stays in its project, and its row stays for ever: what was found once need not be looked up again. */
const projectsOf = new WeakMap<Db, Map<SandboxId, ProjectId>>();

export async function locateSandbox(db: Db, id: SandboxId): Promise<ProjectId | undefined> {
  const known = projectsOf.get(db) ?? new Map<SandboxId, ProjectId>();
  projectsOf.set(db, known);
  const found = known.get(id) ?? (await loadSandboxProject.maybe(db, id))?.project_id;
  if (found === undefined) return undefined;
  if (known.size >= REMEMBER_COUNT) known.clear();
  known.set(id, found);
  return found;
}

export const locateProject = async (db: Db, id: ProjectId): Promise<ProjectId | undefined> =>
  (await loadProject.maybe(db, id))?.id;

export const locateTask = async (db: Db, id: TaskId): Promise<ProjectId | undefined> =>
  (await loadTaskProject.maybe(db, id))?.project_id;

export const locateTicket = async (db: Db, id: TicketId): Promise<ProjectId | undefined> =>
  (await loadTicketProject.maybe(db, id))?.project_id;

export const locatePull = async (db: Db, id: PullRequestId): Promise<ProjectId | undefined> =>
  (await loadPull.maybe(db, id))?.project_id;

/** Throws when the database does not answer or has not been migrated. */
export const checkStore = async (db: Db): Promise<void> => void (await loadHead.one(db));
