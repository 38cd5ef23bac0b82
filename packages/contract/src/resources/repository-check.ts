/** Whether a repository and a branch can be worked with, asked before anything is made of them. */
import { z } from "zod";
import { ProjectId } from "../ids.ts";
import { Timestamp } from "../time.ts";

export const RepositoryCheckRequest = z.strictObject({
  /** The default project unless given. Its own repository is looked at when `repo` is not given. */
  project_id: ProjectId.optional(),
  repo: z.string().min(1).max(1_000).optional(),
  branch: z.string().min(1).max(250).optional(),
});
export type RepositoryCheckRequest = z.infer<typeof RepositoryCheckRequest>;

/** `found`: it can be read, and the branch is there. `no_branch`: it can be read, and the branch is not. `empty`: nothing was committed
 *  yet. `fresh`: the project has none, and gets one. `unreachable`: it did not answer, or said no. `refused`: the server does not look
 *  there. `unchecked`: an address that is only tried when it is needed. */
export const RepositoryStatus = z.enum(["found", "no_branch", "empty", "fresh", "unreachable", "refused", "unchecked"]);
export type RepositoryStatus = z.infer<typeof RepositoryStatus>;

export const RepositoryCheck = z.object({
  status: RepositoryStatus,
  /** The branch that work would start from; null where none is known. */
  branch: z.string().nullable(),
  default_branch: z.string().nullable(),
  /** At most a hundred, by name. */
  branches: z.array(z.string()),
  branch_count: z.int().nonnegative(),
  /** What stood in the way, without names and passwords of the address. */
  detail: z.string().nullable(),
  checked_at: Timestamp,
});
export type RepositoryCheck = z.infer<typeof RepositoryCheck>;
