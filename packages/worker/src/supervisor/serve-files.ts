/** Files as the sandbox sees them: a link planted by the agent leads nowhere but inside. */
import { constants, promises } from "node:fs";
import type { Socket } from "node:net";
import { dirname, resolve } from "node:path";
import type { ControlRequest } from "@drover/contract";
import { CONTROL_FRAME } from "@drover/contract/control-frame";
import { writeFrame, writeJson, type Frame } from "./control-frames.ts";

const READ_BYTES = 256 * 1024;
const LIST_LIMIT = 10_000;

/** Not blocking, because opening a pipe would wait for a reader; truncated only once it is known to be a file. */
const WRITE = constants.O_WRONLY | constants.O_CREAT | constants.O_NONBLOCK | constants.O_NOFOLLOW;

type Kind = "file" | "directory" | "symlink" | "other";

const DONE = { code: 0, signal: null };

function refuse(socket: Socket, error: unknown): void {
  const { code, message } = error as NodeJS.ErrnoException;
  writeJson(socket, CONTROL_FRAME.refused, { code: code ?? "EUNKNOWN", message });
  socket.end();
}

function finish(socket: Socket): void {
  writeJson(socket, CONTROL_FRAME.exit, DONE);
  socket.end();
}

const drained = (socket: Socket) =>
  new Promise<void>((resolve) => {
    socket.once("drain", resolve).once("close", resolve);
  });

async function read(socket: Socket, path: string, limit: number): Promise<void> {
  // Not blocking: opening a pipe would wait for a writer.
  const file = await promises.open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const found = await file.stat();
    if (!found.isFile()) throw Object.assign(new Error("this is not a file"), { code: "EINVAL" });
    const { size } = found;
    if (size > limit)
      throw Object.assign(new Error(`the file has ${size} bytes; at most ${limit} are read`), { code: "EFBIG" });
    const buffer = Buffer.alloc(READ_BYTES);
    for (let position = 0; position < limit && !socket.destroyed;) {
      const { bytesRead } = await file.read(buffer, 0, Math.min(READ_BYTES, limit - position), position);
      if (bytesRead === 0) break;
      position += bytesRead;
      if (!writeFrame(socket, CONTROL_FRAME.stdout, Buffer.from(buffer.subarray(0, bytesRead)))) await drained(socket);
    }
  } finally {
    await file.close();
  }
}

const toKind = (entry: { isFile(): boolean; isDirectory(): boolean; isSymbolicLink(): boolean }): Kind => {
  if (entry.isFile()) return "file";
  if (entry.isDirectory()) return "directory";
  return entry.isSymbolicLink() ? "symlink" : "other";
};

/** Names are bytes: one that is no text is told as well as it can be, and not left out. */
async function list(socket: Socket, path: string): Promise<void> {
  const names = await promises.readdir(path, { encoding: "buffer" });
  for (const name of names.toSorted((one, other) => one.compare(other)).slice(0, LIST_LIMIT)) {
    // Expected: a file that vanished while we looked.
    const found = await promises.lstat(Buffer.concat([Buffer.from(`${path}/`), name])).catch(() => undefined);
    if (found === undefined) continue;
    const entry = { name: name.toString(), kind: toKind(found), size: found.size, modified_ms: found.mtimeMs };
    writeFrame(socket, CONTROL_FRAME.stdout, Buffer.from(`${JSON.stringify(entry)}\n`));
  }
}

export function serveRead(socket: Socket, request: Extract<ControlRequest, { op: "read" }>): void {
  read(socket, request.path, request.limit).then(
    () => finish(socket),
    (error: unknown) => refuse(socket, error),
  );
}

export function serveList(socket: Socket, request: Extract<ControlRequest, { op: "list" }>): void {
  list(socket, request.path).then(
    () => finish(socket),
    (error: unknown) => refuse(socket, error),
  );
}

/** What is written goes where the path says, and not where a link in it leads. */
async function refuseLinks(path: string): Promise<void> {
  const parts = resolve(path).split("/").filter(Boolean);
  for (let depth = 1; depth <= parts.length; depth += 1) {
    // Expected: a part that does not exist yet.
    const found = await promises.lstat(`/${parts.slice(0, depth).join("/")}`).catch(() => undefined);
    if (found?.isSymbolicLink() === true)
      throw Object.assign(new Error("the path leads through a link"), { code: "ELOOP" });
  }
}

/** Frames of `stdin` are the content; `stdinEnd` completes the file. */
export function serveWrite(socket: Socket, request: Extract<ControlRequest, { op: "write" }>): (frame: Frame) => void {
  const opened = (async () => {
    await refuseLinks(request.path);
    await promises.mkdir(dirname(request.path), { recursive: true });
    const file = await promises.open(request.path, WRITE, request.mode ?? 0o644);
    if (!(await file.stat()).isFile()) {
      await file.close();
      throw Object.assign(new Error("this is not a file"), { code: "EINVAL" });
    }
    await file.truncate(0);
    if (request.mode !== undefined) await file.chmod(request.mode);
    return file;
  })();
  // Whoever hangs up in the middle leaves a part of a file, but no open one.
  socket.once("close", () => void opened.then((file) => file.close()).catch(() => undefined));
  let work: Promise<unknown> = opened;
  work.catch((error: unknown) => refuse(socket, error));
  const then = (step: () => Promise<unknown>) => {
    work = work.then(step);
    work.catch((error: unknown) => refuse(socket, error));
  };
  return (frame) => {
    if (frame.type === CONTROL_FRAME.stdin) {
      const bytes = Buffer.from(frame.bytes);
      then(async () => (await opened).writeFile(bytes));
    } else if (frame.type === CONTROL_FRAME.stdinEnd) {
      then(async () => {
        await (await opened).close();
        finish(socket);
      });
    }
  };
}
