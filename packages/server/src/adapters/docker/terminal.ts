/** A shell in a container on a terminal of its own. */
import type { Duplex } from "node:stream";
import { AppError } from "@drover/contract";
import type Docker from "dockerode";
import type { Terminal } from "../../ports/sandbox-provider.ts";
import type { Connection } from "./connection.ts";
import { endSession, startExec, waitForStatus } from "./exec-stream.ts";
import { TERMINAL } from "./scripts.ts";

export interface TerminalSize {
  readonly columns: number;
  readonly rows: number;
}

/** The pid that the script says first; what follows it goes back into the stream. */
async function readPid(stream: Duplex): Promise<number> {
  let head: Buffer = Buffer.alloc(0);
  while (!head.includes("\n")) {
    const chunk = (stream.read() as Buffer | null) ?? Buffer.alloc(0);
    head = Buffer.concat([head, chunk]);
    if (chunk.length > 0) continue;
    if (stream.readableEnded || stream.destroyed)
      throw new AppError("sandbox.unavailable", `the terminal did not start: ${head.toString().trim()}`);
    await new Promise<void>((resolve) => {
      const onFact = () => {
        for (const name of ["readable", "end", "close"]) stream.off(name, onFact);
        resolve();
      };
      for (const name of ["readable", "end", "close"]) stream.once(name, onFact);
    });
  }
  const end = head.indexOf("\n");
  if (end + 1 < head.length) stream.unshift(head.subarray(end + 1));
  return Number(head.subarray(0, end).toString());
}

/** Ends quietly when the stream is cut: `exited` tells how. */
async function* readOutput(stream: Duplex): AsyncGenerator<Uint8Array> {
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) yield chunk;
  } catch {
    // Expected: closed by us, or the container is gone.
  }
}

export async function startTerminal(
  connection: Connection,
  container: Docker.Container,
  { size, env }: { readonly size: TerminalSize; readonly env: Readonly<Record<string, string>> },
  signal: AbortSignal,
): Promise<Terminal> {
  const argv = ["sh", "-c", TERMINAL];
  const start = { argv, env: { ...env, TERM: "xterm-256color" }, isTerminal: true };
  const { exec, stream } = await startExec(connection, container, start, signal);
  const pid = await readPid(stream);
  // Expected to fail when the shell has just ended.
  const resize = (columns: number, rows: number) => exec.resize({ w: columns, h: rows }).catch(() => undefined);
  await resize(size.columns, size.rows);
  let closing: Promise<void> | undefined;
  const close = () => void (closing ??= endSession(container, pid, { exec, stream }));
  const closed = new Promise<void>((resolve) => void stream.once("close", () => resolve()));
  const exited = closed.then(async () => {
    signal.removeEventListener("abort", close);
    // Expected: the engine is gone; nobody can tell.
    return { code: (await waitForStatus(exec).catch(() => null)) ?? null };
  });
  signal.addEventListener("abort", close, { once: true });
  if (signal.aborted) close();
  return {
    output: readOutput(stream),
    write: (bytes) => void stream.write(bytes),
    resize: (columns, rows) => void resize(columns, rows),
    exited,
    close,
  };
}
