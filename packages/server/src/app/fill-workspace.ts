/** Puts the repository into the sandbox: one file made outside, checked out inside, where its filters can do no harm. */
import { chmod, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AppError } from "@drover/contract";
import type { SandboxProvider, SandboxRef } from "../ports/sandbox-provider.ts";
import type { SandboxRow } from "../store/sandboxes.ts";
import type { Deps } from "./deps.ts";

const BUNDLE = "repo.bundle";
const CLONE_LIMIT_MS = 10 * 60 * 1_000;

interface Handed {
  /** Where the bundle lies inside. */
  readonly path: string;
  readonly defaultBranch: string;
}

/** A provider with a shared directory shows the bundle there; any other has it uploaded. */
async function handIn(
  deps: Deps,
  provider: SandboxProvider,
  ref: SandboxRef,
  repo: string,
  signal: AbortSignal,
): Promise<Handed> {
  const shared = provider.socketDirectory(ref);
  if (shared !== undefined) {
    const { defaultBranch } = await deps.repositories.bundle(repo, join(shared, BUNDLE), signal);
    await chmod(join(shared, BUNDLE), 0o644);
    return { path: `/run/cp/${BUNDLE}`, defaultBranch };
  }
  const folder = await mkdtemp(join(tmpdir(), "drover-bundle-"));
  try {
    const { defaultBranch } = await deps.repositories.bundle(repo, join(folder, BUNDLE), signal);
    await provider.upload(ref, `/tmp/${BUNDLE}`, await readFile(join(folder, BUNDLE)), {}, signal);
    return { path: `/tmp/${BUNDLE}`, defaultBranch };
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
  if (row.repo === null) return;
  const bundle = await handIn(deps, provider, ref, row.repo, signal);
  const branch = row.base_branch ?? bundle.defaultBranch;
  const refs = ["+refs/heads/*:refs/remotes/origin/*", "+refs/tags/*:refs/tags/*"];
  await runInside(provider, ref, ["git", "init", "--quiet", "--initial-branch", branch], signal);
  await runInside(provider, ref, ["git", "fetch", "--quiet", "--", bundle.path, ...refs], signal);
  await runInside(
    provider,
    ref,
    ["git", "checkout", "--quiet", "--force", "-B", branch, `refs/remotes/origin/${branch}`],
    signal,
  );
}
