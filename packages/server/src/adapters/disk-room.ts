/** Looks how much is free on the disks of some directories, when somebody asks and the last look is old. */
import { statfs } from "node:fs/promises";
import type { DiskRoom } from "../ports/disk-room.ts";
import type { Log } from "../ports/log.ts";

const STALE_MS = 2_000;

const freeBytesOf = async (path: string): Promise<number> => {
  // Expected: a directory that is not there yet, or away.
  const found = await statfs(path).catch(() => undefined);
  return found === undefined ? Number.POSITIVE_INFINITY : found.bavail * found.bsize;
};

/** `keepBytes` of 0: whatever is free is enough. */
export async function openDiskRoom(paths: readonly string[], keepBytes: number, log: Log): Promise<DiskRoom> {
  let isLittle = false;
  let lookedMs = 0;
  const look = async (): Promise<void> => {
    lookedMs = performance.now();
    const free = Math.min(...(await Promise.all(paths.map(freeBytesOf))));
    const wasLittle = isLittle;
    isLittle = free < keepBytes;
    if (isLittle && !wasLittle) log.error("disk.little_room", { free_bytes: free, keep_bytes: keepBytes });
    if (!isLittle && wasLittle) log.info("disk.room_again", { free_bytes: free });
  };
  await look();
  return {
    isLittle: () => {
      if (performance.now() - lookedMs > STALE_MS) void look();
      return isLittle;
    },
  };
}
