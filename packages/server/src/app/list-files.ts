/** What lies in a directory of a sandbox. */
import type { FileList, SandboxId } from "@drover/contract";
import type { Deps } from "./deps.ts";
import { toInsidePath } from "./inside-path.ts";
import { loadRunning } from "./load-standing.ts";

export async function listFiles(deps: Deps, id: SandboxId, asked: string, signal: AbortSignal): Promise<FileList> {
  const { provider, ref } = await loadRunning(deps, id);
  const path = toInsidePath(asked);
  const entries = await provider.listFiles(ref, path, signal);
  return {
    path,
    entries: entries.map(({ name, kind, size, modifiedAt }) => ({
      name,
      kind,
      size,
      modified_at: modifiedAt.toISOString(),
    })),
  };
}
