/** The directory that all replicas share: known by a mark that lies in it, not by its path. */
import { randomBytes } from "node:crypto";
import { access, constants, link, mkdir, open, readFile, realpath, rm } from "node:fs/promises";
import { join } from "node:path";
import type { StorageDir } from "../ports/storage-dir.ts";

const MARK = "storage.id";

const readMark = async (path: string): Promise<string | undefined> =>
  // Expected: no directory, or one that is not ours to look into.
  (await readFile(join(path, MARK), "utf8").catch(() => "")).trim() || undefined;

export const diskStorage: StorageDir = {
  findMark: async (path) => {
    const mark = await readMark(path);
    const isWritable = await access(path, constants.R_OK | constants.W_OK).then(
      () => true,
      () => false,
    );
    return isWritable ? mark : undefined;
  },
  ensureMark: async (path) => {
    await mkdir(path, { recursive: true, mode: 0o700 });
    const temporary = join(path, `.${MARK}-${randomBytes(6).toString("hex")}`);
    const file = await open(temporary, "wx", 0o600);
    await file.writeFile(randomBytes(16).toString("hex"));
    await file.sync();
    await file.close();
    // Expected: it has one; that is then the mark.
    await link(temporary, join(path, MARK)).catch(() => undefined);
    await rm(temporary);
    return { mark: (await readMark(path)) ?? "", path: await realpath(path) };
  },
};
