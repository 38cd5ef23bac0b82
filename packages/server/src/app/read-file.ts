/** The bytes of a file of a sandbox. */
import { posix } from "node:path";
import type { SandboxId } from "@drover/contract";
import type { Deps } from "./deps.ts";
import { toInsidePath } from "./inside-path.ts";
import { loadRunning } from "./load-standing.ts";

const LIMIT_BYTES = 16 * 1024 * 1024;

export async function readFile(
  deps: Deps,
  id: SandboxId,
  asked: string,
  signal: AbortSignal,
): Promise<{ readonly name: string; readonly bytes: Uint8Array }> {
  const { provider, ref } = await loadRunning(deps, id);
  const path = toInsidePath(asked);
  return { name: posix.basename(path), bytes: await provider.download(ref, path, LIMIT_BYTES, signal) };
}
