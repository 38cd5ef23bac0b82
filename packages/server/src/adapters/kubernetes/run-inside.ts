/** One of our own programs inside a pod, from its order to its answer. */
import { AppError } from "@drover/contract";
import type { Client } from "./client.ts";
import { openChannel } from "./exec-channel.ts";
import { COMMAND, toInput } from "./inside.ts";

/** What it wrote on stdout; fails when it did not end well, or says more than it may. */
export async function runInside(
  client: Client,
  pod: string,
  { program, order, payload }: { readonly program: string; readonly order: object; readonly payload?: Uint8Array },
  limitBytes: number,
  signal: AbortSignal,
): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let [size, complaint] = [0, ""];
  const tooMuch = Promise.withResolvers<never>();
  const onOutput = (stream: "stdout" | "stderr", chunk: Buffer) => {
    if (stream === "stderr") {
      if (complaint.length < 1_000) complaint += chunk.toString();
      return;
    }
    size += chunk.length;
    if (size <= limitBytes) chunks.push(chunk);
    else tooMuch.reject(new AppError("sandbox.rejected", `More than ${limitBytes} bytes came out of the sandbox`));
  };
  const channel = await openChannel(client, { pod, command: COMMAND, onOutput }, signal);
  const onAbort = () => tooMuch.reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  try {
    channel.write(toInput(program, order, payload));
    const code = await Promise.race([channel.ended, tooMuch.promise]);
    if (code === 0) return Buffer.concat(chunks);
    const text = code === 126 || code === 127 ? "the image has no Node" : complaint.trim() || `it ended with ${code}`;
    throw new AppError("sandbox.unavailable", `Kubernetes: a program in the sandbox failed: ${text}`);
  } finally {
    signal.removeEventListener("abort", onAbort);
    channel.close();
  }
}
