/** Repositories, before anything is made of them. */
import { endpoint } from "../endpoint.ts";
import { RepositoryCheck, RepositoryCheckRequest } from "../resources/repository-check.ts";

export const repositoryEndpoints = {
  checkRepository: endpoint({
    method: "POST",
    path: "/repositories/check",
    access: "person",
    verb: "operate",
    summary: "Whether a repository can be read and has a branch; it is asked, not fetched.",
    body: RepositoryCheckRequest,
    reply: RepositoryCheck,
  }),
} as const;
