/** What a container that stood ready was given when it was claimed. Engines cannot change labels and variables of a container, so they
 *  are the labels of a volume that nobody mounts, named like the container. */
import { mkdir, readlink, rm, symlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type Docker from "dockerode";
import { z } from "zod";
import type { Labels, SandboxRef, SandboxSpec } from "../../ports/sandbox-provider.ts";
import { statusOf, type Connection } from "./connection.ts";
import { toName } from "./container.ts";

const CLAIM = { key: "drover.claim", labels: "drover.claim.labels", env: "drover.claim.env" };
const Texts = z.record(z.string(), z.string());

export interface Claim {
  readonly key: string;
  readonly labels: Labels;
  readonly env: Readonly<Record<string, string>>;
}

function parseClaim(labels: Labels | null | undefined): Claim | undefined {
  const key = labels?.[CLAIM.key];
  if (key === undefined) return undefined;
  const parse = (text: string | undefined) => Texts.parse(JSON.parse(text ?? "{}"));
  return { key, labels: parse(labels?.[CLAIM.labels]), env: parse(labels?.[CLAIM.env]) };
}

const orMissing = (error: unknown): undefined => {
  if (statusOf(error) !== 404) throw error;
};

/** Undefined for a sandbox that was made for its key. */
export async function loadClaim({ docker }: Connection, key: string): Promise<Claim | undefined> {
  const found = await docker.getVolume(toName(key)).inspect().catch(orMissing);
  return parseClaim(found?.Labels);
}

export async function listClaims({ docker }: Connection): Promise<readonly Claim[]> {
  const { Volumes: volumes } = await docker.listVolumes({ filters: { label: [CLAIM.key] } });
  return (volumes ?? []).flatMap(({ Labels }) => parseClaim(Labels) ?? []);
}

export async function removeClaim({ docker }: Connection, key: string): Promise<void> {
  await docker.getVolume(toName(key)).remove().catch(orMissing);
}

/** Told before the container has its name, so that whoever finds it there finds this too. One of the same key that nobody used gives way. */
export async function noteClaim(connection: Connection, { key, labels, env }: SandboxSpec): Promise<void> {
  await removeClaim(connection, key);
  await connection.docker.createVolume({
    Name: toName(key),
    Labels: { [CLAIM.key]: key, [CLAIM.labels]: JSON.stringify(labels), [CLAIM.env]: JSON.stringify(env) },
  });
}

export const toClaimedRef = (id: string, { key, labels }: Claim): SandboxRef => ({ key, id, labels });

/** Its sockets stay where they are mounted from; under its new name there is a link to them. */
export async function linkSockets(base: string, key: string, mounted: string): Promise<void> {
  await mkdir(dirname(mounted), { recursive: true });
  await symlink(basename(mounted), join(base, toName(key))).catch((error: NodeJS.ErrnoException) => {
    // Expected: it is there already, made by whoever claimed it.
    if (error.code !== "EEXIST") throw error;
  });
}

export async function removeSockets(base: string, key: string): Promise<void> {
  const path = join(base, toName(key));
  // Expected: it is no link.
  const target = await readlink(path).catch(() => undefined);
  if (target !== undefined) await rm(join(base, basename(target)), { recursive: true, force: true });
  await rm(path, { recursive: true, force: true });
}

export const mountedSockets = (found: Docker.ContainerInspectInfo, target: string): string | undefined =>
  found.Mounts.find(({ Destination }) => Destination === target)?.Source;
