/** How far a webhook was told of each conversation. The conversations' logs are the queue; this is all that is kept beside them. */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { replaceFile } from "./replace-file.ts";

const FOLDER = "webhooks";
const Told = z.record(z.uuid(), z.int().min(0));

export interface ToldFile {
  /** The number of the first event that is still owed; undefined: nobody ever owed this webhook anything of it. */
  get(conversationId: string): number | undefined;
  /** On disk when it returns. */
  set(conversationId: string, next: number): void;
  delete(conversationId: string): void;
}

/** Without those whose log is gone. */
function read(path: string, directory: string): Map<string, number> {
  if (!existsSync(path)) return new Map();
  const told = Object.entries(Told.parse(JSON.parse(readFileSync(path, "utf8"))));
  return new Map(told.filter(([id]) => existsSync(join(directory, id))));
}

export function openToldFile(directory: string, url: string): ToldFile {
  const folder = join(directory, FOLDER);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, `${createHash("sha256").update(url).digest("hex").slice(0, 16)}.json`);
  const told = read(path, directory);
  const save = () => replaceFile(path, JSON.stringify(Object.fromEntries(told)));
  return {
    get: (id) => told.get(id),
    set: (id, next) => {
      told.set(id, next);
      save();
    },
    delete: (id) => {
      if (told.delete(id)) save();
    },
  };
}
