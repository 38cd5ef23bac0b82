/** What a repository elsewhere has, without anything of it being fetched. */

export interface RemoteListing {
  /** Null: nothing was committed yet. */
  readonly defaultBranch: string | null;
  readonly branches: readonly string[];
}

export type RemoteAnswer =
  | ({ readonly status: "listed" } & RemoteListing)
  | { readonly status: "unreachable" | "refused" | "unchecked"; readonly detail: string };

/** Contract: never throws but for `signal`. An http address is judged by name before it is looked up and by address before it is dialled,
 *  what was judged is what is dialled, and no redirect is followed. It ends within its time limit. Credentials of the address are in no
 *  argument of a program and in no answer. */
export interface RemoteRefs {
  list(repo: string, signal: AbortSignal): Promise<RemoteAnswer>;
}
