/** Who may do what: pure decisions over a credential and a target. */
import { VERBS_OF_ROLE, type ProjectId, type Role, type Verb } from "@drover/contract";

export interface Grant {
  readonly role: Role;
  /** `null`: all projects. */
  readonly projectId: ProjectId | null;
}

export type AccessDecision = "allowed" | "forbidden" | "hidden";

export const isAllowedVerb = (role: Role, verb: Verb): boolean => VERBS_OF_ROLE[role].includes(verb);

/** What lies in another project does not exist for this credential; what it may see it may still not be allowed to change. */
export function decideAccess(grant: Grant, verb: Verb, target: ProjectId): AccessDecision {
  if (grant.projectId !== null && grant.projectId !== target) return "hidden";
  return isAllowedVerb(grant.role, verb) ? "allowed" : "forbidden";
}
