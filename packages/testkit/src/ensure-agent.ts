/** Real agents for tests: installed once per checkout, into a cache beside the dependencies. */
import { resolve } from "node:path";
import type { AgentName } from "@drover/contract";
import { openNpmPackages } from "../../server/src/adapters/agent-packages-npm.ts";
import { silentLog } from "./silent-log.ts";

/** Given to a server as `agentsDir`, it has what tests installed. */
export const AGENTS_CACHE = resolve(import.meta.dirname, "../../../node_modules/.cache/drover-agents");

const LOOK_EVERY_MS = 200;

/** Its directory, in the pinned version. The first call of a checkout fetches it from npm; call it in `beforeAll`. */
export async function ensureAgent(name: AgentName): Promise<string> {
  const packages = openNpmPackages({ directory: AGENTS_CACHE, env: process.env, log: silentLog });
  let one = await packages.install(name);
  while (one.state === "installing") {
    await new Promise((tell) => setTimeout(tell, LOOK_EVERY_MS));
    one = (await packages.list()).find((each) => each.name === name) ?? one;
  }
  const directory = await packages.find(name);
  if (directory === undefined) throw new Error(`${name} was not installed: ${one.detail ?? one.state}`);
  return directory;
}
