/** Local sandboxes of an ordinary user keep the same promises: the same suite, run as somebody without any privilege. */
import { execFile } from "node:child_process";
import { chown, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";

const run = promisify(execFile);
const ROOT = resolve(import.meta.dirname, "../../../..");
const SUITE = "packages/testkit/src/unprivileged-suite.ts";
/** Nobody's: in no account file, and not among those that sandboxes of root get. */
const UID = 61_001;
const SUITE_MS = 600_000;

interface Result {
  readonly title: string;
  readonly state?: string;
  readonly error?: string;
}

/** As root, the repository is shown at another place in a mount namespace of its own: it may lie where no other user can go. */
const AS_NOBODY = `set -eu
mount --bind "$1" /mnt
cd /mnt
shift
exec setpriv --reuid=${UID} --regid=${UID} --clear-groups --bounding-set=-all --inh-caps=-all -- "$@"`;

async function runSuite(home: string, files: readonly string[]): Promise<readonly Result[]> {
  const node = "node_modules/node/bin/node";
  const isRoot = process.getuid?.() === 0;
  const argv = isRoot
    ? ["unshare", "--mount", "--propagation", "private", "sh", "-c", AS_NOBODY, "sh", ROOT, node, SUITE, ...files]
    : [join(ROOT, node), SUITE, ...files];
  const [program = "", ...args] = argv;
  const ci = process.env.CI === undefined ? {} : { CI: process.env.CI };
  const env = {
    PATH: "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
    HOME: home,
    TMPDIR: home,
    LANG: "C.UTF-8",
    ...ci,
  };
  const { stdout } = await run(program, args, { cwd: ROOT, env, timeout: SUITE_MS, maxBuffer: 64 * 1024 * 1024 });
  return stdout
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as Result);
}

async function expectAllPassed(files: readonly string[], leastTests: number): Promise<void> {
  const home = await mkdtemp(join(tmpdir(), "drover-rootless-"));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  if (process.getuid?.() === 0) await chown(home, UID, UID);
  const results = await runSuite(home, files);
  expect(results.filter(({ state }) => state !== "passed")).toEqual([]);
  expect(results.length).toBeGreaterThanOrEqual(leastTests);
}

const timeout = SUITE_MS + 30_000;

test("an ordinary user's local sandboxes keep what every provider promises", { timeout }, async () => {
  await expectAllPassed(["packages/server/src/adapters/sandbox-local.test.ts"], 50);
});

test("hostile code in an ordinary user's local sandboxes reaches nothing either", { timeout }, async () => {
  const attempts = ["reach-host", "attack-supervisor", "exhaust", "plant-files", "escape-egress"];
  await expectAllPassed(
    attempts.map((name) => `packages/testkit/src/hostile/local-${name}.test.ts`),
    30,
  );
});
