/** A provider of containers each of which stood ready before it was asked for. */
import { lstat } from "node:fs/promises";
import { openDocker, type DockerOptions } from "../../server/src/adapters/sandbox-docker.ts";
import type { OpenedProvider } from "./conformance/sandbox/given.ts";
import { LIMITS } from "./conformance/sandbox/given.ts";
import { claimAlways, openReadiness, type Claims } from "./warm-claims.ts";

export type WarmDocker = OpenedProvider & Pick<Claims, "claims">;

export async function openWarmDocker(options: DockerOptions & { readonly base: string }): Promise<WarmDocker> {
  const ready = openReadiness();
  const provider = await openDocker({ ...options, warm: { size: 1, limits: LIMITS, log: ready.log } });
  // Sockets of a claimed one are where it stood ready.
  const isClaimed = async (key: string) =>
    (await lstat(provider.socketDirectory({ key, id: key, labels: {} }) ?? "")).isSymbolicLink();
  return {
    ...claimAlways(provider, ready, isClaimed),
    reopen: () => openDocker(options),
    close: () => provider.close(),
  };
}
