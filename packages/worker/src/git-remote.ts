/** Names the server as `origin` of the workspace's repository, by way of the bridge, so that the agent may fetch and push. */
import type { Git } from "./git.ts";

export interface RemoteParts {
  readonly git: Git;
  readonly cwd: string;
  /** Holds the bridge's port, so it is another one at every start. */
  readonly url: string;
  readonly branch: string | null;
}

/** Done twice it equals done once. Rejects when the workspace is no repository. */
export async function ensureRemote({ git, cwd, url, branch }: RemoteParts): Promise<void> {
  const set = (key: string, value: string) => git({ args: ["config", "--local", key, value], cwd });
  await git({ args: ["rev-parse", "--git-dir"], cwd });
  await set("remote.origin.url", url);
  await set("remote.origin.fetch", "+refs/heads/*:refs/remotes/origin/*");
  // The bridge is on loopback; a proxy would not find it.
  await set("remote.origin.proxy", "");
  await set("push.default", "current");
  await set("user.name", "Drover agent");
  await set("user.email", "agent@drover.invalid");
  if (branch === null) return;
  await set(`branch.${branch}.remote`, "origin");
  await set(`branch.${branch}.merge`, `refs/heads/${branch}`);
}
