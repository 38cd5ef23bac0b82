/** Puts the repository into the sandbox: one file made outside, checked out inside, where its filters can do no harm. */
import { chmod, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AppError } from "@drover/contract";
import type { SandboxProvider, SandboxRef } from "../ports/sandbox-provider.ts";
import type { SandboxRow } from "../store/sandboxes.ts";
import type { Deps } from "./deps.ts";
import { ensureSandboxBranch } from "./sandbox-branch.ts";

const BUNDLE = "repo.bundle";
const CLONE_LIMIT_MS = 10 * 60 * 1_000;

interface Handed {
  /** Where the bundle lies inside. */
  readonly path: string;
  readonly branch: string;
}

/** Writes the bundle, and says which branch of it is to be checked out. */
export type Source = (target: string) => Promise<{ readonly branch: string }>;

/** A repository of the outside, or the project's own, where the branch is made before anything else. */
function toSource(deps: Deps, row: SandboxRow, signal: AbortSignal): Source {
  const { repo } = row;
  if (repo !== null)
    return async (target) => {
      const { defaultBranch } = await deps.repositories.bundle(repo, target, signal);
      return { branch: row.base_branch ?? defaultBranch };
    };
  return async (target) => {
    const { name } = await ensureSandboxBranch(deps, row, signal);
    await deps.git.objects.bundle(row.project_id, target, signal);
    return { branch: name };
  };
}

/** A provider whose directory is seen inside shows the bundle there; any other has it uploaded. */
async function handIn(
  provider: SandboxProvider,
  ref: SandboxRef,
  source: Source,
  signal: AbortSignal,
): Promise<Handed> {
  const shared = provider.capabilities.mounts ? provider.socketDirectory(ref) : undefined;
  if (shared !== undefined) {
    const { branch } = await source(join(shared, BUNDLE));
    await chmod(join(shared, BUNDLE), 0o644);
    return { path: `/run/cp/${BUNDLE}`, branch };
  }
  const folder = await mkdtemp(join(tmpdir(), "drover-bundle-"));
  try {
    const { branch } = await source(join(folder, BUNDLE));
    await provider.upload(ref, `/tmp/${BUNDLE}`, await readFile(join(folder, BUNDLE)), {}, signal);
    return { path: `/tmp/${BUNDLE}`, branch };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function runInside(
  provider: SandboxProvider,
  ref: SandboxRef,
  argv: readonly [string, ...string[]],
  signal: AbortSignal,
): Promise<void> {
  let said = "";
  for await (const event of provider.exec(ref, { argv, cwd: "/workspace", timeoutMs: CLONE_LIMIT_MS }, signal)) {
    if (event.type === "stderr") said = (said + Buffer.from(event.chunk).toString("utf8")).slice(-2_000);
    else if (event.type === "exit" && event.code !== 0)
      throw new AppError("repository.unavailable", said.trim() || `${argv[0]} failed`);
  }
}

/** Done twice it equals done once: a server that died in the middle leaves nothing that the next one stumbles over. */
export async function fillWorkspace(
  deps: Deps,
  provider: SandboxProvider,
  ref: SandboxRef,
  row: SandboxRow,
  signal: AbortSignal,
): Promise<void> {
  await checkOut(provider, ref, toSource(deps, row, signal), signal);
}

export async function checkOut(
  provider: SandboxProvider,
  ref: SandboxRef,
  source: Source,
  signal: AbortSignal,
): Promise<void> {
  const { path, branch } = await handIn(provider, ref, source, signal);
  const refs = ["+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*"];
  await runInside(provider, ref, ["git", "init", "--quiet", "--initial-branch", branch], signal);
  await runInside(provider, ref, ["git", "fetch", "--quiet", "--", path, ...refs], signal);
  await runInside(
    provider,
    ref,
    ["git", "checkout", "--quiet", "--force", "-B", branch, `refs/remotes/origin/${branch}`],
    signal,
  );
}
