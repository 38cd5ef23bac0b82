/** A terminal over Daytona's PTY sessions. */
import { randomUUID } from "node:crypto";
import type { Sandbox } from "@daytona/sdk";
import type { Terminal } from "../../ports/sandbox-provider.ts";
import type { Client } from "./client.ts";
import { createEventQueue } from "./event-queue.ts";
import { WORKSPACE } from "./in-sandbox.ts";

export async function openPty(
  client: Client,
  sandbox: Sandbox,
  size: { readonly columns: number; readonly rows: number },
  signal: AbortSignal,
): Promise<Terminal> {
  const output = createEventQueue<Uint8Array>();
  const pty = await client.call("input", signal, () =>
    sandbox.process.createPty({
      id: `terminal-${randomUUID()}`,
      cols: size.columns,
      rows: size.rows,
      cwd: WORKSPACE,
      envs: { TERM: "xterm-256color" },
      onData: (bytes) => output.push(Uint8Array.from(bytes)),
    }),
  );
  const close = () => {
    // Expected: the shell has ended, or the connection is gone.
    void pty
      .kill()
      .catch(() => undefined)
      .then(() => pty.disconnect());
  };
  signal.addEventListener("abort", close, { once: true });
  // A terminal whose connection broke is over; its code is not known.
  const exited = pty
    .wait()
    .then(({ exitCode }) => exitCode ?? null)
    .catch(() => null)
    .then((code) => {
      signal.removeEventListener("abort", close);
      output.end();
      void pty.disconnect();
      return { code };
    });
  /** A size goes by a request and keys by a socket: what was done later must not arrive earlier. */
  let last: Promise<unknown> = Promise.resolve();
  const inOrder = (send: () => Promise<unknown>) => {
    // Expected: a terminal that has ended, which is seen in `exited`.
    last = last.then(send).catch(() => undefined);
  };
  return {
    output,
    exited,
    close,
    write: (bytes) => inOrder(() => pty.sendInput(bytes)),
    resize: (columns, rows) => inOrder(() => pty.resize(columns, rows)),
  };
}
