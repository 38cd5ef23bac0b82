/** The project of a new ticket: the one that is named, or that of a repository of GitHub. */
import { isAllowedVerb } from "@drover/core";
import { AppError, type NewTicket, type ProjectId } from "@drover/contract";
import type { Db } from "../ports/db.ts";
import { insertProjectGit, listProjectsOfPlace, updateProjectGit } from "../store/git.ts";
import { insertProject } from "../store/projects.ts";
import type { Person } from "./credential.ts";
import type { Deps } from "./deps.ts";
import type { EventDraft } from "./event-log.ts";
import { pickProject, tellCreated } from "./manage-projects.ts";
import { refuseTakenPlace } from "./project-git.ts";

const NAME_LENGTH = 100;

interface Place {
  readonly owner: string;
  readonly name: string;
}

interface Picked {
  readonly projectId: ProjectId;
  /** Tells of a project that was made on the way. */
  readonly drafts: readonly EventDraft[];
}

function toPlace({ github_owner: owner, github_repo: name }: NewTicket): Place | undefined {
  if (owner !== undefined && name !== undefined) return { owner, name };
  if (owner === undefined && name === undefined) return undefined;
  const missing = owner === undefined ? "github_owner" : "github_repo";
  throw new AppError("request.invalid", "a repository of GitHub has an owner and a name", {
    fields: [{ path: missing, message: "is missing" }],
  });
}

const refuse = (place: Place, projectId: ProjectId) =>
  new AppError("request.invalid", `the repository of project ${projectId} is not ${place.owner}/${place.name}`, {
    fields: [{ path: "github_repo", message: "is not the project's" }],
  });

/** Its repository as people write it into a project, without the ending. */
function toAddresses(githubUrl: string, { owner, name }: Place): readonly string[] {
  const { host } = new URL(githubUrl);
  const paths = [`${githubUrl.replace(/\/$/, "")}/`, `ssh://git@${host}/`, `git@${host}:`];
  return paths.map((start) => `${start}${owner}/${name}`.toLowerCase());
}

/** Two that ask at once: the later one waits for the name, and finds what the first one made. */
async function ensurePlace(
  tx: Db,
  deps: Deps,
  actor: Person,
  place: Place,
  find: () => Promise<readonly ProjectId[]>,
): Promise<Picked> {
  const fullName = `${place.owner}/${place.name}`;
  if (!isAllowedVerb(actor.grant.role, "administer"))
    throw new AppError("auth.forbidden", `no project has ${fullName}, and only an admin of all projects may make one`);
  const row = await insertProject.maybe(tx, {
    id: deps.ids.project(),
    name: fullName.slice(0, NAME_LENGTH),
    description: null,
    repo: null,
    is_default: false,
  });
  if (row === undefined) {
    const [found] = await find();
    if (found !== undefined) return { projectId: found, drafts: [] };
    throw new AppError("project.exists", `a project is called ${fullName} already, and has another repository`);
  }
  await insertProjectGit(tx, row.id);
  const git = { host: "github", ...place, sealed_token: undefined, sealed_webhook_secret: undefined } as const;
  await updateProjectGit.one(tx, row.id, git).catch(refuseTakenPlace);
  return { projectId: row.id, drafts: [await tellCreated(tx, deps, actor, row)] };
}

export async function pickTicketProject(tx: Db, deps: Deps, actor: Person, input: NewTicket): Promise<Picked> {
  const place = toPlace(input);
  const named = input.project_id ?? actor.grant.projectId ?? undefined;
  if (place === undefined) return { projectId: await pickProject({ db: tx }, actor, named), drafts: [] };
  const addresses = toAddresses(deps.config.githubUrl, place);
  const find = async () => (await listProjectsOfPlace(tx, place.owner, place.name, addresses)).map(({ id }) => id);
  const found = await find();
  if (named !== undefined) {
    const projectId = await pickProject({ db: tx }, actor, named);
    if (!found.includes(projectId)) throw refuse(place, projectId);
    return { projectId, drafts: [] };
  }
  const [first, ...more] = found;
  if (first === undefined) return ensurePlace(tx, deps, actor, place, find);
  if (more.length === 0) return { projectId: first, drafts: [] };
  throw new AppError("request.invalid", `${found.length} projects have ${place.owner}/${place.name}`, {
    fields: [{ path: "project_id", message: `is one of ${found.join(", ")}` }],
  });
}
