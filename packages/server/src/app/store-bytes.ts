/** Bytes that the server itself keeps for a sandbox, as an artifact. */
import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import type { ArtifactId, SandboxId } from "@drover/contract";
import { insertArtifact } from "../store/artifacts.ts";
import type { Deps } from "./deps.ts";

export async function storeBytes(deps: Deps, sandboxId: SandboxId, bytes: Uint8Array): Promise<ArtifactId> {
  const id = createHash("sha256").update(bytes).digest("hex") as ArtifactId;
  await deps.blobs.put(id, Readable.from([Buffer.from(bytes)]), bytes.length);
  await insertArtifact(deps.db, sandboxId, id, bytes.length);
  return id;
}
