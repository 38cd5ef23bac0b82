/** The few things the journal does to a directory; tests put a disk in its place that fills up or dies in the middle. */
import { constants } from "node:fs";
import { mkdir, open, readFile, rename } from "node:fs/promises";
import { join } from "node:path";

/** Contract: `write` and `sync` reject with the system's error; after a rejected `write` the end of the file is in doubt. */
export interface AppendFile {
  write(bytes: Buffer): Promise<void>;
  sync(): Promise<void>;
  truncate(length: number): Promise<void>;
  close(): Promise<void>;
}

/** Contract: a crash at any moment of `replace` leaves the old content or the new, each whole. */
export interface Disk {
  read(name: string): Promise<Buffer | undefined>;
  replace(name: string, bytes: Buffer, beforeRename: () => void): Promise<void>;
  openAppend(name: string): Promise<AppendFile>;
}

async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, constants.O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function openAppend(path: string): Promise<AppendFile> {
  const handle = await open(path, "a", 0o600);
  return {
    async write(bytes) {
      for (let at = 0; at < bytes.length;) at += (await handle.write(bytes, at)).bytesWritten;
    },
    sync: () => handle.datasync(),
    truncate: (length) => handle.truncate(length),
    close: () => handle.close(),
  };
}

async function replaceFile(directory: string, name: string, bytes: Buffer, beforeRename: () => void): Promise<void> {
  const temporary = join(directory, `${name}.tmp`);
  const handle = await open(temporary, "w", 0o600);
  try {
    await handle.writeFile(bytes);
    await handle.sync();
  } finally {
    await handle.close();
  }
  beforeRename();
  await rename(temporary, join(directory, name));
  await syncDirectory(directory);
}

const absent = (error: NodeJS.ErrnoException): undefined => {
  if (error.code === "ENOENT") return undefined;
  throw error;
};

export async function openDisk(directory: string): Promise<Disk> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  return {
    read: (name) => readFile(join(directory, name)).catch(absent),
    replace: (name, bytes, beforeRename) => replaceFile(directory, name, bytes, beforeRename),
    openAppend: (name) => openAppend(join(directory, name)),
  };
}
