/** Keeps the disk of the database from being filled by what sandboxes send. */
import { AppError } from "@drover/contract";
import type { Deps } from "./deps.ts";

/** Its sender keeps it and comes again. A database that finds no room stops, and with it everything. */
export function requireRoom({ room, config }: Pick<Deps, "room" | "config">): void {
  if (!room.isLittle()) return;
  throw new AppError("data_dir.full", `less than ${config.keepFreeMb} MiB are free on the disk of this server`);
}

/** Where the database is somebody else's, its disk is theirs to watch. */
export function requireRoomForEvents(deps: Pick<Deps, "room" | "config">): void {
  if (deps.config.databaseUrl === undefined) requireRoom(deps);
}
