/** Artifacts as files: `blobs/ab/abcdef...`, written beside and renamed, so that a half-written one is never found. */
import { createHash, randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { mkdir, open, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Readable } from "node:stream";
import { AppError, type ArtifactId } from "@drover/contract";
import type { BlobStore } from "../ports/blob.ts";

const NO_SPACE: ReadonlySet<string | undefined> = new Set(["ENOSPC", "EDQUOT"]);

function toBlobError(cause: unknown): AppError {
  if (cause instanceof AppError) return cause;
  const code = (cause as NodeJS.ErrnoException).code;
  if (NO_SPACE.has(code)) return new AppError("data_dir.full", "no space is left for artifacts", { cause });
  return new AppError("blob.unavailable", `artifacts cannot be stored: ${code ?? "unknown reason"}`, { cause });
}

async function syncDirectory(path: string): Promise<void> {
  const handle = await open(path, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

export function openDiskBlobs(root: string): BlobStore {
  const toPath = (id: ArtifactId) => join(root, id.slice(0, 2), id);

  const write = async (id: ArtifactId, bytes: Readable, limitBytes: number, temporary: string) => {
    const hash = createHash("sha256");
    let size = 0;
    const file = await open(temporary, "wx", 0o600);
    try {
      // Left open when we stop reading: it is the caller's, who still wants our answer on the same connection.
      for await (const chunk of bytes.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
        size += chunk.length;
        if (size > limitBytes) throw new AppError("request.too_large", `an artifact has at most ${limitBytes} bytes`);
        hash.update(chunk);
        await file.writeFile(chunk);
      }
      const found = hash.digest("hex");
      if (found !== id) throw new AppError("artifact.mismatch", `the bytes received have the SHA-256 ${found}`);
      await file.sync();
    } finally {
      await file.close();
    }
    return size;
  };

  return {
    put: async (id, bytes, limitBytes) => {
      const path = toPath(id);
      const temporary = join(root, `${id}.${randomUUID()}.part`);
      // Expected: a wrong hash, too many bytes, a caller that hangs up, a full disk. None may leave the part file.
      try {
        await mkdir(dirname(path), { recursive: true, mode: 0o700 });
        const size = await write(id, bytes, limitBytes, temporary);
        await rename(temporary, path);
        await syncDirectory(dirname(path));
        return { size };
      } catch (error) {
        // Expected: not even that works. The first failure is the one to tell.
        await rm(temporary, { force: true }).catch(() => undefined);
        throw toBlobError(error);
      }
    },
    remove: async (id, before) => {
      const path = toPath(id);
      const isOld = async (file: string) => ((await stat(file).catch(() => undefined))?.mtime ?? new Date()) < before;
      if (!(await isOld(path))) return false;
      // Taken away first: whoever puts it from now on writes it anew, and whoever did a moment ago is seen by its time.
      const aside = join(root, `${id}.${randomUUID()}.part`);
      await rename(path, aside);
      if (!(await isOld(aside))) {
        await rename(aside, path);
        return false;
      }
      await rm(aside, { force: true });
      return true;
    },
    open: async (id) => {
      const path = toPath(id);
      // Expected: the file is not there.
      const found = await stat(path).catch(() => undefined);
      if (found === undefined) return undefined;
      const handle = await open(path, "r");
      return { size: found.size, bytes: handle.createReadStream() };
    },
  };
}
