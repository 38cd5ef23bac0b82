/** Which directory holds what all replicas must see: artifacts, repositories, agents and the key of stored secrets. */
import { AppError } from "@drover/contract";
import type { Db } from "../ports/db.ts";
import type { Log } from "../ports/log.ts";
import type { StorageDir } from "../ports/storage-dir.ts";
import { findOther, lockStorage, saveReplica, saveStorage } from "../store/replicas.ts";

export interface StorageRequest {
  readonly db: Db;
  readonly directories: StorageDir;
  readonly log: Log;
  readonly host: string;
  readonly instance: string;
  /** As configured, if it is. */
  readonly sharedDir: string | undefined;
  readonly dataDir: string;
}

/** The first replica's choice is written down. Others take the same directory, known by its mark; where they cannot see it they do not
 *  start beside a replica that uses it, because each would miss what the other wrote. */
export async function shareStorage(request: StorageRequest): Promise<string> {
  const { db, directories, log, host, sharedDir } = request;
  const own = sharedDir ?? request.dataDir;
  return db.tx(async (tx) => {
    const known = await lockStorage.one(tx);
    // From here on whoever starts knows of us; where we listen is told when we do.
    await saveReplica(tx, host, "", request.instance);
    const mark = await directories.findMark(own);
    if (known.mark !== null && mark === known.mark) return own;
    const isFoundThere =
      sharedDir === undefined && known.path !== null && (await directories.findMark(known.path)) === known.mark;
    if (known.mark !== null && known.path !== null && isFoundThere) {
      log.info("storage.shared", { path: known.path });
      return known.path;
    }
    const other = known.mark === null ? undefined : await findOther.maybe(tx, host);
    if (other !== undefined)
      throw new AppError(
        "storage.not_shared",
        `This database is served by ${other.host}, which keeps artifacts, repositories and its key in ${known.path ?? "a directory"}. ` +
          "That directory is not visible here: mount it, and set DROVER_SHARED_DIR to where it lies.",
      );
    if (known.mark !== null) log.warn("storage.replaced", { was: known.path, now: own });
    const made = await directories.ensureMark(own);
    await saveStorage(tx, made.mark, made.path);
    return made.path;
  });
}
