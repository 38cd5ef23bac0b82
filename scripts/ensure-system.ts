/** Makes sure that the programs a command needs are on this machine; installs Debian packages where it may. */
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { runSilent } from "./steps.ts";

interface Need {
  readonly program: string;
  readonly debian: string;
  readonly why: string;
}

const GIT: Need = { program: "git", debian: "git", why: "repositories" };
const REDIS: Need = { program: "redis-server", debian: "redis-server", why: "tests with several replicas" };
const NGINX: Need = { program: "nginx", debian: "nginx", why: "tests of servers behind a proxy" };
const BUBBLEWRAP: Need = { program: "bwrap", debian: "bubblewrap", why: "sandboxes on this machine" };
const DOCKER: Need = { program: "dockerd", debian: "docker.io", why: "tests of sandboxes as containers" };
const BASE: Need = { program: "mmdebstrap", debian: "mmdebstrap", why: "images without a registry" };
const CHROMIUM: Need = { program: "chromium", debian: "chromium", why: "browser tests" };

const NEEDS: Readonly<Record<string, readonly Need[]>> = {
  start: [GIT, BUBBLEWRAP],
  fast: [GIT, BUBBLEWRAP, REDIS],
  docker: [DOCKER],
  compose: [DOCKER, BASE],
  chaos: [GIT, REDIS, NGINX],
  test: [GIT, BUBBLEWRAP, REDIS, NGINX, DOCKER, CHROMIUM],
};

const FOLDERS = [...(process.env.PATH ?? "").split(delimiter), "/usr/local/bin", "/usr/bin", "/usr/sbin", "/bin"];

function isThere(program: string): boolean {
  return FOLDERS.some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false; // expected: not in this folder
    }
  });
}

/** The words before `apt-get`, or `undefined` when we may not install. */
async function installPrefix(): Promise<readonly string[] | undefined> {
  if (!isThere("apt-get")) return undefined;
  if (process.getuid?.() === 0) return [];
  if (isThere("sudo") && (await runSilent(["sudo", "-n", "true"])).code === 0) return ["sudo", "-n"];
  return undefined;
}

async function install(prefix: readonly string[], packages: readonly string[]): Promise<number> {
  const apt = [...prefix, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq", "-o", "DPkg::Lock::Timeout=300"];
  console.log(`installing ${packages.join(", ")} with apt-get; this happens once`);
  const updated = await runSilent([...apt, "update"]);
  if (updated.code !== 0) console.log(updated.output.trimEnd());
  const installed = await runSilent([...apt, "install", "-y", "--no-install-recommends", ...packages]);
  if (installed.code !== 0) console.log(installed.output.trimEnd());
  return installed.code;
}

const what = process.argv[2] ?? "test";
const needs = NEEDS[what];
if (needs === undefined) {
  console.error(`ensure-system knows ${Object.keys(NEEDS).join(", ")}; not ${what}`);
  process.exit(2);
}

const missing = needs.filter((need) => !isThere(need.program));
if (missing.length > 0) {
  const packages = missing.map((need) => need.debian);
  const prefix = await installPrefix();
  const code = prefix === undefined ? 1 : await install(prefix, packages);
  const still = missing.filter((need) => !isThere(need.program));
  if (code !== 0 || still.length > 0) {
    for (const need of still) console.error(`missing: ${need.program} (${need.why})`);
    console.error(`Install with:  apt-get install --no-install-recommends ${packages.join(" ")}`);
    // The server runs without them; what needs them says so when it is asked for.
    if (what !== "start") process.exit(1);
  }
}
