/** Creates something at most once per Idempotency-Key: what is made and the reply that tells of it are one transaction. */
import { createHash } from "node:crypto";
import { AppError } from "@drover/contract";
import type { Db } from "../ports/db.ts";
import { insertReply, loadReply, lockKey } from "../store/idempotency.ts";
import type { Deps } from "./deps.ts";
import { writeWithEvents, type Append } from "./event-log.ts";

/** A caller's key for one request; absent when it gave none. */
export interface RequestKey {
  readonly key: string;
  /** Who asks, for what: the same key of another caller or for another path is another key. */
  readonly scope: string;
  readonly request: string;
}

const sha256 = (text: string) => createHash("sha256").update(text).digest();

function openReply<T>(deps: Deps, sealed: Uint8Array): T {
  try {
    return JSON.parse(deps.vault.open(sealed)) as T;
  } catch (cause) {
    // Expected: another replica, or this one before its data directory was lost, sealed it with another key.
    const remedy = "the reply was sealed with another key; give all replicas the same DROVER_SECRET_KEY";
    throw new AppError("config.invalid", remedy, { cause });
  }
}

/** For work that is done elsewhere and may be done twice (`ensure*`): it comes first, and its reply is kept under the key. */
export async function createOnceDone<T>(
  deps: Deps,
  requestKey: RequestKey | undefined,
  work: () => Promise<T>,
): Promise<T> {
  if (requestKey === undefined) return work();
  const known = await loadReply.maybe(deps.db, sha256(`${requestKey.scope}\n${requestKey.key}`));
  // One that is known is answered below, or refused as another request's.
  const reply = known === undefined ? await work() : undefined;
  return createOnce(deps, requestKey, async () => reply as T);
}

export async function createOnce<T>(
  deps: Deps,
  requestKey: RequestKey | undefined,
  create: (tx: Db, append: Append) => Promise<T>,
): Promise<T> {
  if (requestKey === undefined) return writeWithEvents(deps, create);
  const keyHash = sha256(`${requestKey.scope}\n${requestKey.key}`);
  const requestHash = sha256(requestKey.request);
  return writeWithEvents(deps, async (tx, append) => {
    await lockKey(tx, keyHash.readInt32BE(0), keyHash.readInt32BE(4));
    const known = await loadReply.maybe(tx, keyHash);
    if (known !== undefined) {
      if (!requestHash.equals(known.request_hash)) throw new AppError("request.key_reused");
      return openReply<T>(deps, known.sealed_reply);
    }
    // Kept after the append, although that keeps its lock for one more round trip: a reply may tell the numbers it was given.
    const reply = await create(tx, append);
    await insertReply(tx, keyHash, requestHash, deps.vault.seal(JSON.stringify(reply)));
    return reply;
  });
}
