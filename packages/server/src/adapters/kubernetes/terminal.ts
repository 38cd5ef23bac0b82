/** A terminal over the cluster's exec channel. */
import { randomBytes } from "node:crypto";
import type { Terminal } from "../../ports/sandbox-provider.ts";
import { createEventQueue } from "../daytona/event-queue.ts";
import type { Client } from "./client.ts";
import { openChannel } from "./exec-channel.ts";
import { HANG_UP, RECORDS } from "./inside.ts";
import { WORKSPACE } from "./pod.ts";
import { runInside } from "./run-inside.ts";

/** The shell notes its number: a cluster lets a terminal's processes live when its connection ends. */
const SHELL = `mkdir -p ${RECORDS}; echo $$ > "$0"; cd ${WORKSPACE}; export TERM=xterm-256color
if command -v bash >/dev/null; then exec bash -i; fi; exec sh -i`;
const HANG_UP_MS = 15_000;
const ANSWER_BYTES = 1_000;

export async function openTerminal(
  client: Client,
  pod: string,
  size: { readonly columns: number; readonly rows: number },
  signal: AbortSignal,
): Promise<Terminal> {
  const output = createEventQueue<Uint8Array>();
  const path = `${RECORDS}/terminal-${randomBytes(8).toString("hex")}`;
  const command = ["sh", "-c", SHELL, path];
  const onOutput = (_stream: "stdout" | "stderr", chunk: Buffer) => output.push(chunk);
  const channel = await openChannel(client, { pod, command, isTerminal: true, onOutput }, signal);
  channel.resize(size.columns, size.rows);
  const hangUp = () => {
    // Expected: the pod is gone, and the terminal with it.
    void runInside(client, pod, { program: HANG_UP, order: { path } }, ANSWER_BYTES, AbortSignal.timeout(HANG_UP_MS))
      .catch(() => undefined)
      .then(() => channel.close());
  };
  let isClosed = false;
  const close = () => {
    if (isClosed) return;
    isClosed = true;
    hangUp();
  };
  signal.addEventListener("abort", close, { once: true });
  // A terminal whose connection broke is over; its code is not known.
  const exited = channel.ended
    .catch(() => {
      close();
      return null;
    })
    .then((code) => {
      isClosed = true;
      signal.removeEventListener("abort", close);
      output.end();
      return { code };
    });
  return { output, exited, close, write: channel.write, resize: channel.resize };
}
