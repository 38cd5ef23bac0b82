/** Agents of this machine inside a local sandbox: each is bound over an empty directory of ours. */
import { mkdir, rm, symlink } from "node:fs/promises";
import { join } from "node:path";
import type { AgentMount } from "../../ports/sandbox-provider.ts";

const NAME = /^[a-z][a-z0-9-]{0,63}$/;

/** Below our own files, seen as /opt/drover. */
export const toAgentPlace = (runtime: string, name: string): string => join(runtime, "agents", name);

/** Makes the places. Where nothing can be mounted, because plain processes see this machine as it is, a link does. */
export async function showAgents(
  runtime: string,
  agents: readonly AgentMount[],
  isLinked: boolean,
): Promise<readonly AgentMount[]> {
  for (const { name, directory } of agents) {
    if (!NAME.test(name)) throw new TypeError(`${name} is no name of an agent`);
    const place = toAgentPlace(runtime, name);
    if (!isLinked) await mkdir(place, { recursive: true, mode: 0o755 });
    else {
      await mkdir(join(runtime, "agents"), { recursive: true, mode: 0o755 });
      await rm(place, { recursive: true, force: true });
      await symlink(directory, place);
    }
  }
  return isLinked ? [] : agents;
}
