/** Bytes too large for an event: kept on disk under their SHA-256 until the server has them. */
import { createHash } from "node:crypto";
import { readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { openDisk } from "./disk.ts";

export interface ArtifactSpool {
  /** Resolves to the artifact's id when the bytes are on disk. */
  keep(bytes: Buffer): Promise<string>;
  /** Ids the server does not have yet. */
  list(): readonly string[];
  load(id: string): Promise<Buffer>;
  forget(id: string): Promise<void>;
}

export async function openArtifactSpool(directory: string): Promise<ArtifactSpool> {
  const disk = await openDisk(directory);
  const owed = new Set((await readdir(directory)).filter((name) => /^[0-9a-f]{64}$/.test(name)));
  return {
    async keep(bytes) {
      const id = createHash("sha256").update(bytes).digest("hex");
      await disk.replace(id, bytes, () => {});
      owed.add(id);
      return id;
    },
    list: () => [...owed],
    load: (id) => readFile(join(directory, id)),
    async forget(id) {
      owed.delete(id);
      await rm(join(directory, id), { force: true });
    },
  };
}
