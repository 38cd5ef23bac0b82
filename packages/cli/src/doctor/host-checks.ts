/** What this machine has, looked at without a server. */
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { access, constants, mkdir, rm, statfs, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Config } from "@drover/contract";
import { broken, brokenIf, ok, skipped, toReason, warning, type Finding } from "./finding.ts";

const run = promisify(execFile);
const NODE_MAJOR = 24;
const LITTLE_BYTES = 2 * 1024 ** 3;
const COMMAND_LIMIT_MS = 10_000;
const BUBBLEWRAP = "/usr/bin/bwrap";

export function checkNode(version: string): Finding {
  const major = Number(/^v?(\d+)/.exec(version)?.[1] ?? 0);
  return major >= NODE_MAJOR
    ? ok("node", version)
    : broken("node", `${version} is too old`, "Run drover by `npx drover` or `npm run drover`: they bring Node 24.");
}

export async function checkDataDir(path: string): Promise<Finding> {
  const name = "data directory";
  try {
    await mkdir(path, { recursive: true, mode: 0o700 });
    const draft = join(path, `doctor-${randomBytes(4).toString("hex")}`);
    await writeFile(draft, "written");
    await rm(draft);
    const { bavail, bsize } = await statfs(path);
    const free = bavail * bsize;
    const room = `${(free / 1024 ** 3).toFixed(1)} GiB free`;
    return free < LITTLE_BYTES
      ? warning(name, `${path}, only ${room}`, "Free some space, or move the data with DROVER_DATA_DIR.")
      : ok(name, `${path}, ${room}`);
  } catch (error) {
    // Expected: no right to write there, or no space left.
    return broken(name, toReason(error), "Give this user the directory, or name another one with DROVER_DATA_DIR.");
  }
}

export function checkBuilt(unbuilt: readonly string[]): Finding {
  return unbuilt.length === 0
    ? ok("built files", "web page, worker and supervisor")
    : broken("built files", `missing: ${unbuilt.join(", ")}`, "Run: npm run build");
}

export async function checkGit(): Promise<Finding> {
  try {
    const { stdout } = await run("git", ["--version"], { timeout: COMMAND_LIMIT_MS });
    return ok("git", stdout.trim());
  } catch {
    // Expected: it is not installed.
    return warning("git", "not found; sandboxes cannot be given repositories", "Run: apt-get install git");
  }
}

export async function checkBubblewrap(config: Pick<Config, "provider" | "unsafeNoSandbox">): Promise<Finding> {
  const isNeeded = config.provider === "local" && !config.unsafeNoSandbox;
  try {
    await access(BUBBLEWRAP, constants.X_OK);
    const { stdout } = await run(BUBBLEWRAP, ["--version"], { timeout: COMMAND_LIMIT_MS });
    return ok("bubblewrap", stdout.trim());
  } catch {
    // Expected: it is not installed.
    return brokenIf(isNeeded, "bubblewrap", `there is no ${BUBBLEWRAP}`, "Run: apt-get install bubblewrap");
  }
}

/** The namespaces of a sandbox with a /proc of their own, which engines forbid apart, made by this user around a program that does nothing. */
export async function checkNamespaces(config: Pick<Config, "provider" | "unsafeNoSandbox">): Promise<Finding> {
  const name = "user namespaces";
  const isNeeded = config.provider === "local" && !config.unsafeNoSandbox;
  const argv = ["--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"];
  try {
    await run(BUBBLEWRAP, [...argv, "--ro-bind", "/", "/", "--proc", "/proc", "true"], { timeout: COMMAND_LIMIT_MS });
    return ok(name, "this user may make them");
  } catch (error) {
    // Expected: the kernel, a container or AppArmor forbids them, or there is no bubblewrap.
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return skipped(name, "needs bubblewrap");
    const said = ((error as { stderr?: string }).stderr ?? "").trim() || toReason(error);
    const fix =
      "Run: sysctl -w kernel.unprivileged_userns_clone=1 kernel.apparmor_restrict_unprivileged_userns=0; in a container start it with --security-opt seccomp=unconfined --security-opt systempaths=unconfined.";
    return brokenIf(isNeeded, name, said, fix);
  }
}
