/** The supervisor: first process of a local sandbox. Serves the server's requests and forwards the sandbox's way out. */
import { connect, createServer, type Socket } from "node:net";
import { CONTROL_FRAME, ControlRequest, type ControlExit } from "@drover/contract";
import { onFrames, writeJson, type Frame } from "./control-frames.ts";
import { runDetached, runProcess } from "./run-process.ts";
import { serveList, serveRead, serveWrite } from "./serve-files.ts";

/** A listening socket whose name lies outside, so that nothing in here can take it away. */
const CONTROL_FD = 3;
const EGRESS_SOCKET = "/run/cp/egress.sock";
const EGRESS_PORT = 3128;
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

function accept(socket: Socket): void {
  lastHeardMs = Date.now();
  let onFrame: ((frame: Frame) => void) | undefined;
  socket.on("error", () => socket.destroy());
  onFrames(socket, (frame) => {
    if (onFrame !== undefined) return onFrame(frame);
    const request = ControlRequest.safeParse(JSON.parse(frame.bytes.toString("utf8")));
    if (frame.type !== CONTROL_FRAME.request || !request.success) return void socket.destroy();
    onFrame = serve(socket, request.data);
  });
}

createServer(accept).listen({ fd: CONTROL_FD });

createServer((inside) => {
  const outside = connect(EGRESS_SOCKET);
  inside.on("error", () => outside.destroy()).on("close", () => outside.destroy());
  outside.on("error", () => inside.destroy()).on("close", () => inside.destroy());
  inside.pipe(outside).pipe(inside);
}).listen(EGRESS_PORT, "127.0.0.1");

setInterval(() => {
  if (Date.now() - lastHeardMs > ALONE_LIMIT_MS) process.exit(0);
}, 10_000);
