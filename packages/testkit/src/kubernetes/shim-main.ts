/**
 * Starts processes inside a pod of the emulator, one per connection, as a container runtime does: it ends a process's stdin when the
 * caller is gone and leaves the process alone, and it tells the end only when both streams are closed.
 */
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { constants } from "node:os";
import type { Readable } from "node:stream";
import type { Execution } from "./cell.ts";
import { CHANNEL, ignoreErrors, readFrames, toFrame } from "./frames.ts";

const quote = (word: string) => `'${word.replaceAll("'", String.raw`'\''`)}'`;

interface Started {
  readonly child: ChildProcess;
  readonly ttyFile: string | undefined;
}

/** `script` gives a terminal, `stty` its size. */
function start({ command, env, cwd, tty }: Execution): Started {
  const [program = "", ...words] = command;
  if (!tty) return { child: spawn(program, words, { cwd, env, detached: true, stdio: "pipe" }), ttyFile: undefined };
  const ttyFile = `/run/tty-${randomUUID()}`;
  const shell = `tty > ${ttyFile}; exec ${command.map(quote).join(" ")}`;
  const child = spawn("script", ["-qefc", shell, "/dev/null"], {
    cwd,
    env: { ...env, SHELL: "/bin/sh" },
    stdio: "pipe",
  });
  return { child, ttyFile };
}

const toStatus = (code: number) =>
  code === 0
    ? { metadata: {}, status: "Success" }
    : {
        metadata: {},
        status: "Failure",
        message: `command terminated with non-zero exit code: exit status ${code}`,
        reason: "NonZeroExitCode",
        details: { causes: [{ reason: "ExitCode", message: String(code) }] },
      };

const toFailure = (error: Error) => ({
  metadata: {},
  status: "Failure",
  message: error.message,
  reason: "InternalError",
  code: 500,
});

function serve(socket: Socket, execution: Execution, first: Buffer): void {
  const { child, ttyFile } = start(execution);
  const end = (status: object) => socket.end(toFrame(CHANNEL.status, Buffer.from(JSON.stringify(status))));
  const pass = (channel: number, stream: Readable | null) => {
    stream?.on("data", (chunk: Buffer) => {
      if (socket.write(toFrame(channel, chunk))) return;
      stream.pause();
      socket.once("drain", () => stream.resume());
    });
    // What nobody reads any more is thrown away.
    socket.once("close", () => stream?.resume());
  };
  pass(CHANNEL.stdout, child.stdout);
  pass(CHANNEL.stderr, child.stderr);
  child.once("error", (error) => end(toFailure(error)));
  child.stdin?.on("error", () => undefined);
  child.once("close", (code, signal) => end(toStatus(code ?? 128 + constants.signals[signal ?? "SIGKILL"])));
  const resize = (payload: Buffer) => {
    const { Width, Height } = JSON.parse(payload.toString());
    const tty = ttyFile === undefined ? "" : readFileSync(ttyFile, "utf8").trim();
    spawnSync("stty", ["-F", tty, "cols", String(Width), "rows", String(Height)]);
  };
  /** A terminal's size can be set when it is there; nothing overtakes. */
  let ready: Promise<void> =
    ttyFile === undefined ? Promise.resolve() : new Promise((resolve) => child.stdout?.once("data", () => resolve()));
  const read = readFrames((channel, payload) => {
    ready = ready.then(() => {
      if (channel === CHANNEL.resize) resize(payload);
      else if (channel === CHANNEL.close) child.stdin?.end();
      else if (channel === CHANNEL.stdin) child.stdin?.write(payload);
    });
  });
  socket.on("data", read);
  socket.once("end", () => void ready.then(() => child.stdin?.end()));
  socket.once("close", () => child.stdin?.end());
  read(first);
}

const server = createServer({ allowHalfOpen: true }, (socket) => {
  ignoreErrors(socket);
  let head: Buffer = Buffer.alloc(0);
  const onData = (chunk: Buffer) => {
    head = Buffer.concat([head, chunk]);
    const border = head.indexOf(10);
    if (border < 0) return;
    socket.off("data", onData);
    serve(socket, JSON.parse(head.subarray(0, border).toString()) as Execution, head.subarray(border + 1));
  };
  socket.on("data", onData);
});

server.listen(process.argv[2], () => console.log("ready"));
