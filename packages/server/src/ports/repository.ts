/** Repositories of the outside, handed into sandboxes as one file. */

/** Contract: `bundle` brings a local mirror up to date and writes everything in it into one Git bundle at `target`. Nothing that
 *  the repository contains is run: no checkout, hooks or filters. Credentials stay outside. Failures are AppError
 *  "repository.unavailable", without the address's user and password. */
export interface Repositories {
  bundle(repo: string, target: string, signal: AbortSignal): Promise<{ readonly defaultBranch: string }>;
}
