/** Where a local sandbox lives on the host, and what is noted about it there. */
import { mkdirSync, readFileSync } from "node:fs";
import { mkdir, readFile, readdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import type { Mounts } from "./bubblewrap.ts";

const Note = z.object({
  key: z.string(),
  labels: z.record(z.string(), z.string()),
  limits: z.object({ memoryBytes: z.number(), cpus: z.number(), diskBytes: z.number(), processes: z.number() }),
  env: z.record(z.string(), z.string()),
  /** Kernel uid of everything inside; null when the server is no root and shares its own. */
  uid: z.number().nullable(),
  stopReason: z.string().nullable().default(null),
  /** Stopped by signals, where no control group can freeze it. */
  isPaused: z.boolean().default(false),
  /** Whether workspace and home lie in a file system of their own. */
  hasImage: z.boolean().default(false),
  /** Of its control group, when that was made before the sandbox had its key. */
  group: z.string().nullable().default(null),
  /** Processes that the watchdog killed because the sandbox used too much memory. */
  watchdogKills: z.number().default(0),
});
export type Note = z.infer<typeof Note>;

export interface Place {
  readonly key: string;
  readonly root: string;
  /** Where processes see what they would see as /workspace and so on, when they see this machine's own files. */
  readonly seen: Mounts | undefined;
  readonly workspace: string;
  readonly home: string;
  readonly sockets: string;
  readonly control: string;
  readonly process: string;
  readonly image: string;
  /** What is mounted for it, as a table. */
  readonly mounts: string;
}

const KEY = /^[a-z0-9][a-z0-9-]{0,80}$/;

export function toPlace(base: string, key: string, seen?: Mounts): Place {
  if (!KEY.test(key)) throw new TypeError(`${key} is no key of a sandbox`);
  const root = join(base, key);
  return {
    key,
    root,
    seen,
    workspace: join(root, "workspace"),
    home: join(root, "home"),
    sockets: join(root, "sock"),
    control: join(root, "control.sock"),
    process: join(root, "process"),
    image: join(root, "disk.img"),
    mounts: join(root, "mounts"),
  };
}

/** What is mounted, empty. In one go: by promises it takes ten times as long, and a sandbox waits for it. */
export function makePlace({ root, workspace, home, sockets }: Place): void {
  for (const directory of [root, workspace, home]) mkdirSync(directory, { recursive: true, mode: 0o700 });
  mkdirSync(sockets, { recursive: true, mode: 0o755 });
}

const notePath = (place: Place) => join(place.root, "note.json");

/** What is noted of its outermost process. In one go, because it is asked for again and again while a sandbox starts. Expected: it is not
 *  noted yet. */
export function readNotedProcess(place: Place): string {
  try {
    return readFileSync(place.process, "utf8");
  } catch {
    return "";
  }
}

/** Undefined for a place that was never finished. */
export async function readNote(place: Place): Promise<Note | undefined> {
  const text = await readFile(notePath(place), "utf8").catch(() => undefined);
  return text === undefined ? undefined : Note.parse(JSON.parse(text));
}

export async function writeNote(place: Place, note: Note): Promise<void> {
  await mkdir(place.root, { recursive: true, mode: 0o700 });
  await writeFile(`${notePath(place)}.new`, JSON.stringify(note), { mode: 0o600 });
  await rename(`${notePath(place)}.new`, notePath(place));
}

export async function listPlaces(base: string): Promise<readonly Place[]> {
  const names = await readdir(base).catch(() => []);
  return names.filter((name) => KEY.test(name)).map((name) => toPlace(base, name));
}
