/** A sandbox's first command, and how long something takes. */
import type { SandboxProvider, SandboxRef } from "../packages/server/src/ports/sandbox-provider.ts";

export async function time(work: () => Promise<void>): Promise<number> {
  const since = performance.now();
  await work();
  return performance.now() - since;
}

export async function runTrue(provider: SandboxProvider, ref: SandboxRef): Promise<void> {
  const { signal } = new AbortController();
  for await (const event of provider.exec(ref, { argv: ["true"] }, signal))
    if (event.type === "exit" && event.code !== 0) throw new Error(`a command ended with ${event.code}`);
}
