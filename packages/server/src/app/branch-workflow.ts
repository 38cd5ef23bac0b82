/** Branches of tickets and tasks: named once, kept, and found again by whoever works on them next. */
import { toTaskBranch, toTicketBranch, type TicketName } from "@drover/core";
import { AppError, ERRORS, type ProjectId } from "@drover/contract";
import type { Branch } from "../ports/git-host.ts";
import { findTaskBranch, findTicketBranch, insertBranch, listTakenBranches, type BranchRow } from "../store/git.ts";
import { loadTicket } from "../store/tickets.ts";
import type { Person } from "./credential.ts";
import type { Deps } from "./deps.ts";
import { draftEvent, writeWithEvents } from "./event-log.ts";
import { pickProject } from "./manage-projects.ts";
import { openProjectGit, type ProjectGit } from "./project-git.ts";

const ATTEMPTS = 3;
/** Nobody is kept waiting for longer: whoever asked is told when to ask again. */
const LONGEST_PAUSE_SECONDS = 10;

/** What is to be known of a ticket. */
export interface TicketWork extends TicketName {
  readonly project_id: ProjectId;
}

export interface WorkBranch {
  readonly name: string;
  readonly commit: string;
  /** The branch it was made from. */
  readonly base: string;
}

/** Tries again, a second later and then two, what the error table says a retry may help. */
export async function persist<T>(deps: Pick<Deps, "clock">, work: () => Promise<T>, signal: AbortSignal): Promise<T> {
  for (let times = 1; ; times += 1) {
    try {
      return await work();
    } catch (error) {
      const isWorthIt = error instanceof AppError && ERRORS[error.code].retry;
      if (!isWorthIt || times === ATTEMPTS || signal.aborted) throw error;
      const pause = error.retryAfterSeconds ?? 2 ** (times - 1);
      if (pause > LONGEST_PAUSE_SECONDS) throw error;
      await deps.clock.sleep(pause * 1_000, signal);
    }
  }
}

/** The name is taken in the store first; a death before the host has the branch is made up for by the next caller. */
async function claimName(
  deps: Deps,
  git: ProjectGit,
  row: Omit<BranchRow, "name">,
  toName: (taken: ReadonlySet<string>) => string,
  find: () => Promise<BranchRow | undefined>,
  signal: AbortSignal,
): Promise<BranchRow> {
  for (let times = 0; times < 10; times += 1) {
    const known = await find();
    if (known !== undefined && known.project_id !== row.project_id)
      throw new AppError("branch.not_found", "the ticket belongs to another project");
    if (known !== undefined) return known;
    const hosted = await git.host.listBranches(git.repo, signal);
    const kept = await listTakenBranches(deps.db, row.project_id, toName(new Set()));
    const name = toName(new Set([...hosted, ...kept].map((one) => one.name)));
    const claimed = await insertBranch.maybe(deps.db, { ...row, name });
    if (claimed !== undefined) return claimed;
  }
  throw new AppError("git.unavailable", "others take every name first");
}

async function ensureOnHost(deps: Deps, git: ProjectGit, row: BranchRow, signal: AbortSignal): Promise<Branch> {
  const { objects } = deps.git;
  const known = await objects.resolve(row.project_id, `refs/heads/${row.name}`, signal);
  const base = await objects.resolve(row.project_id, `refs/heads/${row.base}`, signal);
  const branch = await git.host.ensureBranch(git.repo, row.name, base ?? row.base_commit, signal);
  if (known === undefined)
    await writeWithEvents(deps, (_tx, append) =>
      append([
        draftEvent(
          deps.ids,
          { type: "branch", id: row.name, projectId: row.project_id },
          {
            eventType: "BRANCH_CREATED",
            data: {
              branch: row.name,
              ticket_id: row.ticket_id,
              task_id: row.task_id,
              base: row.base,
              commit: branch.commit,
            },
          },
        ),
      ]),
    );
  return branch;
}

async function requireCommit(deps: Deps, projectId: ProjectId, branch: string, signal: AbortSignal): Promise<string> {
  const commit = await deps.git.objects.resolve(projectId, `refs/heads/${branch}`, signal);
  if (commit === undefined) throw new AppError("branch.not_found", `the repository has no branch ${branch}`);
  return commit;
}

/** `actor`: whoever asks for it, by whose own token it is then done where there is one. */
export const ensureTicketBranch = (
  deps: Deps,
  ticket: TicketWork,
  signal: AbortSignal,
  actor: Person | null = null,
): Promise<WorkBranch> =>
  persist(
    deps,
    async () => {
      const git = await openProjectGit(deps, ticket.project_id, actor);
      const { defaultBranch } = await git.host.ensureRepository(git.repo, signal);
      const base_commit = await requireCommit(deps, ticket.project_id, defaultBranch, signal);
      const row = await claimName(
        deps,
        git,
        { project_id: ticket.project_id, ticket_id: ticket.id, task_id: null, base: defaultBranch, base_commit },
        (taken) => toTicketBranch(ticket, taken),
        () => findTicketBranch.maybe(deps.db, ticket.id),
        signal,
      );
      const { name, commit } = await ensureOnHost(deps, git, row, signal);
      return { name, commit, base: row.base };
    },
    signal,
  );

/** What the caller says about the ticket; what is not said is the ticket's own, where it is one of ours. */
export async function findTicketWork(
  deps: Deps,
  actor: Person,
  named: {
    readonly ticket_id: string;
    readonly ticket_title?: string | undefined;
    readonly project_id?: ProjectId | undefined;
    readonly ticket_type?: string | undefined;
    readonly priority?: string | undefined;
  },
): Promise<TicketWork> {
  const known = await loadTicket.maybe(deps.db, named.ticket_id);
  if (known !== undefined) {
    if (actor.grant.projectId !== null && actor.grant.projectId !== known.project_id)
      throw new AppError("ticket.not_found");
    return {
      ...known,
      title: named.ticket_title ?? known.title,
      ticket_type: named.ticket_type ?? known.ticket_type,
      priority: named.priority ?? known.priority,
    };
  }
  return {
    id: named.ticket_id,
    project_id: await pickProject(deps, actor, named.project_id),
    title: named.ticket_title ?? named.ticket_id,
    ticket_type: named.ticket_type ?? "feature",
    priority: named.priority ?? null,
  };
}

export interface TaskWork {
  readonly id: string;
  readonly ticket: TicketWork;
  /** It runs beside others of its ticket, so it has a branch of its own. */
  readonly is_parallel: boolean;
}

export async function ensureTaskBranch(deps: Deps, task: TaskWork, signal: AbortSignal): Promise<WorkBranch> {
  const whole = await ensureTicketBranch(deps, task.ticket, signal);
  const known = await findTaskBranch.maybe(deps.db, task.id);
  if (!task.is_parallel && known === undefined) return whole;
  return persist(
    deps,
    async () => {
      const { project_id, id: ticket_id } = task.ticket;
      const git = await openProjectGit(deps, project_id);
      const row = await claimName(
        deps,
        git,
        { project_id, ticket_id, task_id: task.id, base: whole.name, base_commit: whole.commit },
        (taken) => {
          const name = toTaskBranch(whole.name, task.id);
          return taken.has(name) ? `${name}-${task.id.slice(-6)}` : name;
        },
        () => findTaskBranch.maybe(deps.db, task.id),
        signal,
      );
      const { name, commit } = await ensureOnHost(deps, git, row, signal);
      return { name, commit, base: row.base };
    },
    signal,
  );
}

/** A branch of a task that begins with commits which no branch has yet. One that exists is found, wherever it points. */
export async function ensureStartedBranch(
  deps: Deps,
  ticket: TicketWork,
  taskId: string,
  start: { readonly from: string; readonly commit: string },
  signal: AbortSignal,
): Promise<WorkBranch> {
  const known = await findTaskBranch.maybe(deps.db, taskId);
  const made = await ensureTaskBranch(deps, { id: taskId, ticket, is_parallel: true }, signal);
  const isNew = known === undefined || made.commit === start.from;
  if (!isNew || start.from === start.commit) return made;
  const git = await openProjectGit(deps, ticket.project_id);
  await persist(deps, () => git.host.ensureAdvanced(git.repo, made.name, made.commit, start.commit, signal), signal);
  return { ...made, commit: start.commit };
}
