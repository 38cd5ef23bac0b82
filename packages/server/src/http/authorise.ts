/** Who asks and whether they may, decided from the credential and the path before the body is read. */
import { decideAccess, isAllowedVerb } from "@drover/core";
import {
  AppError,
  ProjectId,
  PullRequestId,
  SandboxId,
  TaskId,
  TicketId,
  type Endpoint,
  type ErrorCode,
} from "@drover/contract";
import type { z } from "zod";
import type { Person, Principal, Watcher, WorkerPrincipal } from "../app/credential.ts";
import type { Deps } from "../app/deps.ts";
import { locateProject, locatePull, locateSandbox, locateTask, locateTicket } from "../app/locate.ts";
import { parseSessionCookie } from "./session-cookie.ts";

export interface Headers {
  readonly authorization?: string | undefined;
  readonly cookie?: string | undefined;
}

const BEARER = /^bearer +(\S+)$/i;

/** The first one present decides: a bad bearer is not saved by a good cookie. */
export async function resolvePrincipal(deps: Deps, headers: Headers): Promise<Principal | undefined> {
  if (headers.authorization !== undefined) {
    const [, secret] = BEARER.exec(headers.authorization) ?? [];
    return secret === undefined ? undefined : deps.credentials.resolveBearer(secret);
  }
  const session = parseSessionCookie(headers.cookie);
  return session === undefined ? undefined : deps.credentials.resolveSession(session);
}

interface Target {
  readonly projectId: ProjectId;
  readonly missing: ErrorCode;
}

type Params = Readonly<Record<string, string | undefined>>;

type Locate = (deps: Deps, given: unknown) => Promise<ProjectId | undefined>;

function toLocate<T extends z.ZodType>(
  id: T,
  locate: (db: Deps["db"], id: z.infer<T>) => Promise<ProjectId | undefined>,
): Locate {
  return async (deps, given) => {
    const parsed = id.safeParse(given);
    return parsed.success ? locate(deps.db, parsed.data) : undefined;
  };
}

/** What a path may name, by the parameter that names it. */
const TARGETS: readonly { readonly param: string; readonly missing: ErrorCode; readonly locate: Locate }[] = [
  { param: "sandbox_id", missing: "sandbox.not_found", locate: toLocate(SandboxId, locateSandbox) },
  { param: "project_id", missing: "project.not_found", locate: toLocate(ProjectId, locateProject) },
  { param: "task_id", missing: "task.not_found", locate: toLocate(TaskId, locateTask) },
  { param: "ticket_id", missing: "ticket.not_found", locate: toLocate(TicketId, locateTicket) },
  { param: "pull_id", missing: "pull_request.not_found", locate: toLocate(PullRequestId, locatePull) },
];

/** The project that the path points into, if it names something that lies in one. A malformed id names nothing. */
async function findTarget(deps: Deps, endpoint: Endpoint, params: Params): Promise<Target | undefined> {
  const target = TARGETS.find(({ param }) => endpoint.path.includes(`:${param}`));
  if (target === undefined) return undefined;
  const found = await target.locate(deps, params[target.param]);
  if (found === undefined) throw new AppError(target.missing);
  return { projectId: found, missing: target.missing };
}

function authoriseWorker(endpoint: Endpoint, principal: WorkerPrincipal, params: Params): void {
  if (endpoint.path.includes(":sandbox_id") && params["sandbox_id"] !== principal.sandboxId)
    throw new AppError("sandbox.not_found");
  if (endpoint.access !== "worker" || principal.scope !== "worker")
    throw new AppError("auth.forbidden", "a sandbox's token may not do this");
}

/** A link opens the readings of its own run that are marked so, and nothing else. */
function authoriseWatcher(endpoint: Endpoint, watcher: Watcher, params: Params): void {
  if (endpoint.path.includes(":sandbox_id") && params["sandbox_id"] !== watcher.sandboxId)
    throw new AppError("sandbox.not_found");
  const isReading = endpoint.method === "GET" && endpoint.path.includes(":sandbox_id");
  if (!isReading || endpoint.isShared !== true) throw new AppError("auth.forbidden", "a link only shows one run");
}

/** Throws unless the person's role allows what the endpoint does to what the path names. */
export async function authorisePerson(deps: Deps, endpoint: Endpoint, person: Person, params: Params): Promise<void> {
  const target = await findTarget(deps, endpoint, params);
  const verb = endpoint.verb ?? "read";
  const decision =
    target === undefined
      ? isAllowedVerb(person.grant.role, verb)
        ? "allowed"
        : "forbidden"
      : decideAccess(person.grant, verb, target.projectId);
  if (decision === "hidden") throw new AppError(target?.missing ?? "route.not_found");
  if (endpoint.access === "worker") throw new AppError("auth.forbidden", "only the sandbox's own worker may do this");
  if (decision === "forbidden")
    throw new AppError("auth.forbidden", `the role ${person.grant.role} may not ${verb} here`);
}

export async function authorise(
  deps: Deps,
  endpoint: Endpoint,
  headers: Headers,
  params: Params,
): Promise<Principal | undefined> {
  if (endpoint.access === "open") return undefined;
  const principal = await resolvePrincipal(deps, headers);
  if (principal === undefined) throw new AppError("auth.required");
  if (principal.kind === "worker") authoriseWorker(endpoint, principal, params);
  else if (principal.kind === "watcher") authoriseWatcher(endpoint, principal, params);
  else await authorisePerson(deps, endpoint, principal, params);
  return principal;
}
