/** Files of a container, moved by commands inside it. Not by the engine's archive calls: those see no tmpfs, refuse a read-only root, and
 *  resolve links with the engine's rights while the sandbox may be changing them. A command inside can reach only what is inside. */
import { AppError } from "@drover/contract";
import type Docker from "dockerode";
import type { FileEntry } from "../../ports/sandbox-provider.ts";
import type { Connection } from "./connection.ts";
import { runScript, WORKSPACE, type Outcome } from "./run-command.ts";
import { ANSWER, DOWNLOAD, LIST, UPLOAD } from "./scripts.ts";

const DEFAULT_MODE = 0o644;

/** Not normalised: `a/../b` is the kernel's to resolve, through links as they are inside. */
const toPath = (path: string): string => (path.startsWith("/") ? path : `${WORKSPACE}/${path}`);

function assertAnswered(path: string, { exit, stderr }: Outcome): void {
  switch (exit.code) {
    case 0:
      return;
    case ANSWER.notFound:
      throw new AppError("file.not_found", `${path} does not exist`);
    case ANSWER.notFile:
      throw new AppError("sandbox.rejected", `${path} is of another kind`);
    case ANSWER.tooLarge:
      throw new AppError("sandbox.rejected", `${path} is larger than asked for`);
    case ANSWER.cut:
    case null:
      throw new AppError("sandbox.unavailable", `${path} was not moved as a whole`);
    default:
      throw new AppError("sandbox.rejected", stderr.toString().trim() || `${path} could not be used`);
  }
}

export async function uploadFile(
  connection: Connection,
  container: Docker.Container,
  file: { readonly path: string; readonly bytes: Uint8Array; readonly mode: number | undefined },
  signal: AbortSignal,
): Promise<void> {
  const { path, bytes, mode = DEFAULT_MODE } = file;
  const args = [toPath(path), mode.toString(8), String(bytes.length)];
  assertAnswered(path, await runScript(connection, container, { text: UPLOAD, args, stdin: bytes }, signal));
}

export async function downloadFile(
  connection: Connection,
  container: Docker.Container,
  file: { readonly path: string; readonly limitBytes: number },
  signal: AbortSignal,
): Promise<Uint8Array> {
  const script = { text: DOWNLOAD, args: [toPath(file.path), String(file.limitBytes)] };
  const outcome = await runScript(connection, container, script, signal);
  assertAnswered(file.path, outcome);
  return outcome.stdout;
}

const KINDS: Readonly<Record<string, FileEntry["kind"]>> = { f: "file", d: "directory", l: "symlink" };

/** As many as a local sandbox tells of. */
const LIST_LIMIT = 10_000;
const LAST_MS = 8.64e15;

/** A file may bear any number as its time, also one that is no date. */
const toTime = (ms: number): Date => new Date(Math.abs(ms) <= LAST_MS ? ms : 0);

/** `kind size seconds name`, each ended by a zero byte. */
function parseEntry(record: string): FileEntry {
  const [, kind = "", size, seconds, name = ""] = /^(\S+) (\d+) (\S+) ([^]+)$/.exec(record) ?? [];
  return { name, kind: KINDS[kind] ?? "other", size: Number(size), modifiedAt: toTime(Number(seconds) * 1_000) };
}

export async function listDirectory(
  connection: Connection,
  container: Docker.Container,
  path: string,
  signal: AbortSignal,
): Promise<readonly FileEntry[]> {
  const outcome = await runScript(connection, container, { text: LIST, args: [toPath(path)] }, signal);
  assertAnswered(path, outcome);
  return outcome.stdout.toString().split("\0").slice(0, -1).slice(0, LIST_LIMIT).map(parseEntry);
}
