/** Real agents for tests: installed once per checkout, into a cache beside the dependencies. */
import { randomBytes } from "node:crypto";
import { join, resolve } from "node:path";
import { AppError, type AgentName } from "@drover/contract";
import { lockDirectory, type DirectoryLock } from "../../worker/src/directory-lock.ts";
import { openNpmPackages } from "../../server/src/adapters/agent-packages-npm.ts";
import { silentLog } from "./silent-log.ts";

/** Given to a server as `agentsDir`, it has what tests installed. */
export const AGENTS_CACHE = resolve(import.meta.dirname, "../../../node_modules/.cache/drover-agents");

const TURNS = `${AGENTS_CACHE}-turns`;
const LOOK_EVERY_MS = 200;

const nap = () => new Promise((tell) => setTimeout(tell, LOOK_EVERY_MS));

/** Whoever comes while another process fetches it waits, and finds it there. */
async function takeTurn(name: AgentName): Promise<DirectoryLock> {
  for (;;) {
    try {
      return await lockDirectory(join(TURNS, name), randomBytes(4).toString("hex"));
    } catch (error) {
      if (!(error instanceof AppError && error.code === "data_dir.in_use")) throw error;
      await nap();
    }
  }
}

/** Its directory, in the pinned version. The first call of a checkout fetches it from npm; call it in `beforeAll`. */
export async function ensureAgent(name: AgentName): Promise<string> {
  const packages = openNpmPackages({ directory: AGENTS_CACHE, env: process.env, log: silentLog });
  const turn = await takeTurn(name);
  try {
    let one = await packages.install(name);
    while (one.state === "installing") {
      await nap();
      one = (await packages.list()).find((each) => each.name === name) ?? one;
    }
    const directory = await packages.find(name);
    if (directory === undefined) throw new Error(`${name} was not installed: ${one.detail ?? one.state}`);
    return directory;
  } finally {
    await turn.release();
  }
}
