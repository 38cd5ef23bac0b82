/** The supervisor: first process of a local sandbox. Serves the server's requests and forwards the sandbox's way out. */
import { closeSync, readFileSync, readdirSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import type { ControlExit, ControlRequest } from "@drover/contract";
import { CONTROL_FRAME } from "@drover/contract/control-frame";
import { forwardEgress } from "../forward-egress.ts";
import { onFrames, writeJson, type Frame } from "./control-frames.ts";
import { parseRequest } from "./parse-request.ts";
import { runDetached, runProcess } from "./run-process.ts";
import { serveConnection } from "./serve-connection.ts";
import { serveList, serveRead, serveWrite } from "./serve-files.ts";

/** A listening socket whose name lies outside, so that nothing in here can take it away. */
const CONTROL_FD = 3;
/** With no server for this long, nobody will ever look after this sandbox again. */
const ALONE_LIMIT_MS = Number(process.env["SUPERVISOR_ALONE_LIMIT_MS"] ?? 60 * 60 * 1_000);

interface Detached {
  readonly argv: readonly string[];
  exit: ControlExit | null;
}

const detached: Detached[] = [];
let lastHeardMs = Date.now();

function keep(request: Extract<ControlRequest, { op: "exec" }>, socket: Socket): (frame: Frame) => void {
  const entry: Detached = { argv: request.argv, exit: null };
  detached.push(entry);
  return runDetached(socket, request, process.env, (exit) => {
    entry.exit ??= exit;
  });
}

function serve(socket: Socket, request: ControlRequest): (frame: Frame) => void {
  switch (request.op) {
    case "exec":
      return request.is_detached === true ? keep(request, socket) : runProcess(socket, request, process.env);
    case "write":
      return serveWrite(socket, request);
    case "connect":
      return serveConnection(socket, request);
    case "read":
      serveRead(socket, request);
      return () => undefined;
    case "list":
      serveList(socket, request);
      return () => undefined;
    case "status":
      writeJson(socket, CONTROL_FRAME.stdout, { processes: detached });
      writeJson(socket, CONTROL_FRAME.exit, { code: 0, signal: null });
      socket.end();
      return () => undefined;
  }
}

const readRequest = (frame: Frame): ControlRequest => {
  if (frame.type !== CONTROL_FRAME.request) throw new Error("the first frame is no request");
  return parseRequest(JSON.parse(frame.bytes.toString("utf8")));
};

function accept(socket: Socket): void {
  lastHeardMs = Date.now();
  let onFrame: ((frame: Frame) => void) | undefined;
  socket.on("error", () => socket.destroy());
  onFrames(socket, (frame) => {
    try {
      if (onFrame === undefined) onFrame = serve(socket, readRequest(frame));
      else onFrame(frame);
    } catch (error) {
      // Expected: a frame that is no request, or words that no process can be given, such as a NUL. It is over for this connection only.
      writeJson(socket, CONTROL_FRAME.refused, { code: "EINVAL", message: String(error).slice(0, 500) });
      socket.destroySoon();
    }
  });
}

const CLOSE_ON_EXEC = 0o2_000_000;

/** Whatever else the server's own parents left open is not for the programs that are started here. */
function closeInherited(): void {
  for (const name of readdirSync("/proc/self/fd")) {
    const descriptor = Number(name);
    if (descriptor <= CONTROL_FD) continue;
    try {
      const [, flags = ""] = /^flags:\s*(\d+)$/m.exec(readFileSync(`/proc/self/fdinfo/${name}`, "utf8")) ?? [];
      if (flags !== "" && (Number.parseInt(flags, 8) & CLOSE_ON_EXEC) === 0) closeSync(descriptor);
    } catch {
      // Expected: the descriptor of the listing itself, which is closed by now.
    }
  }
}

closeInherited();
// Nobody reads what this process says once it runs, and nothing that goes wrong with one connection ends the others. That covers
// stderr too, which takes a millisecond to open and is left alone.
process.on("uncaughtException", () => undefined);

createServer(accept).listen({ fd: CONTROL_FD });

// Without a network namespace of its own the sandbox has no such port either: everybody's would be the same.
if (process.env["SUPERVISOR_NO_FORWARDER"] === undefined) forwardEgress({ isAlone: true });

setInterval(() => {
  if (Date.now() - lastHeardMs > ALONE_LIMIT_MS) process.exit(0);
}, 10_000);
