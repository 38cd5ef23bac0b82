/** Bytes named by their SHA-256. */
import type { Readable } from "node:stream";
import type { ArtifactId } from "@drover/contract";

/** Contract: `put` keeps nothing unless every byte arrived, the hash matches (AppError "artifact.mismatch") and the size is
 *  within the limit ("request.too_large"); it resolves only when the bytes are on disk, and putting twice equals putting once.
 *  A store that cannot write is "blob.unavailable" or "data_dir.full". */
export interface BlobStore {
  put(id: ArtifactId, bytes: Readable, limitBytes: number): Promise<{ readonly size: number }>;
  /** Only if it was put before that time; says whether it did. A put at the same moment keeps its bytes. */
  remove(id: ArtifactId, before: Date): Promise<boolean>;
  open(id: ArtifactId): Promise<{ readonly size: number; readonly bytes: Readable } | undefined>;
}
