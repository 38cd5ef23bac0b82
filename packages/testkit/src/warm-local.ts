/** A provider of local sandboxes each of which stood ready before it was asked for. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { OpenedProvider } from "./conformance/sandbox/given.ts";
import { LIMITS } from "./conformance/sandbox/given.ts";
import { openLocal } from "./hostile/open-local.ts";
import { claimAlways, openReadiness, type Claims } from "./warm-claims.ts";

export interface WarmLocal extends OpenedProvider, Pick<Claims, "claims"> {
  readonly folder: string;
}

export async function openWarmLocal(): Promise<WarmLocal> {
  const ready = openReadiness();
  const opened = await openLocal({ log: ready.log, warm: { size: 1, limits: LIMITS } });
  const isClaimed = async (key: string) =>
    JSON.parse(await readFile(join(opened.folder, "sandboxes", key, "note.json"), "utf8")).group !== null;
  return { ...opened, ...claimAlways(opened.provider, ready, isClaimed) };
}
