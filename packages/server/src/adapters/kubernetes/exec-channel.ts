/** One process in a pod over the cluster's exec channel: each stream has a number, and the last word is a status. */
import type { ClientRequest, IncomingMessage } from "node:http";
import type { RequestOptions } from "node:https";
import { AppError } from "@drover/contract";
import { WebSocket, type ClientOptions as SocketOptions } from "ws";
import { z } from "zod";
import type { Client } from "./client.ts";
import { toRefusal } from "./failure.ts";
import { CONTAINER } from "./pod.ts";

/** Newest first. The fifth can close single streams, which we do without, so that both are the same to us. */
const PROTOCOLS = ["v5.channel.k8s.io", "v4.channel.k8s.io"];
const CHANNEL = { stdin: 0, stdout: 1, stderr: 2, status: 3, resize: 4 } as const;
/** So that what stands in between lets a silent connection live. */
const PING_MS = 20_000;
const FRAME_BYTES = 32_768;
const OPEN_MS = 30_000;
/** After the last word the server hangs up. One that does not is hung up on. */
const HANG_UP_MS = 2_000;

/** https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/ */
const Status = z.looseObject({
  status: z.string().optional(),
  message: z.string().optional(),
  reason: z.string().optional(),
  details: z
    .looseObject({
      causes: z.array(z.looseObject({ reason: z.string().optional(), message: z.string().optional() })).optional(),
    })
    .optional(),
});

/** The code of the process. Anything but an end of its own is the cluster's failure to run it. */
function parseStatus(bytes: Buffer): number {
  const status = Status.parse(JSON.parse(bytes.toString()));
  if (status.status === "Success") return 0;
  const code = status.details?.causes?.find(({ reason }) => reason === "ExitCode")?.message;
  if (status.reason !== "NonZeroExitCode" || code === undefined || !/^\d+$/.test(code))
    throw new AppError("sandbox.unavailable", `Kubernetes: ${status.message ?? "a command could not be run"}`);
  return Number(code);
}

export interface Channel {
  write(bytes: Uint8Array): void;
  resize(columns: number, rows: number): void;
  /** What the process says is not read on until `resume`. */
  pause(): void;
  resume(): void;
  /** The exit code, when the connection has ended: a status may overtake what stands on other streams. Rejects when it ends without one. */
  readonly ended: Promise<number>;
  /** Ends the connection, and with it the process's stdin. What the process does then is its own affair. */
  close(): void;
}

export interface ChannelRequest {
  readonly pod: string;
  readonly command: readonly string[];
  readonly isTerminal?: boolean;
  readonly onOutput: (stream: "stdout" | "stderr", chunk: Buffer) => void;
}

function toAddress(client: Client, { pod, command, isTerminal = false }: ChannelRequest): string {
  const server = client.config.getCurrentCluster()?.server ?? "";
  const path = `/api/v1/namespaces/${encodeURIComponent(client.namespace)}/pods/${encodeURIComponent(pod)}/exec`;
  const query = new URLSearchParams({ container: CONTAINER, stdin: "true", stdout: "true", tty: String(isTerminal) });
  // A terminal has one stream for both.
  query.set("stderr", String(!isTerminal));
  for (const word of command) query.append("command", word);
  return `${server.replace(/^http/, "ws").replace(/\/+$/, "")}${path}?${query}`;
}

const MESSAGE_LIMIT = 1_000;

/** What the cluster said instead of opening the connection. */
async function readRefusal(answer: IncomingMessage): Promise<AppError> {
  let text = "";
  for await (const chunk of answer) if (text.length < MESSAGE_LIMIT) text += String(chunk);
  let message = text.slice(0, MESSAGE_LIMIT);
  try {
    message = Status.parse(JSON.parse(text)).message ?? message;
  } catch {
    // expected: the kubelet's own refusals are plain text
  }
  const status = answer.statusCode;
  // A pod that is not there or not ready is told in many ways; only who we are and what we may is final.
  return toRefusal(status === 401 || status === 403 ? status : 503, message);
}

async function openSocket(client: Client, request: ChannelRequest, signal: AbortSignal): Promise<WebSocket> {
  const options: RequestOptions = {};
  await client.config.applyToHTTPSOptions(options);
  signal.throwIfAborted();
  const own: SocketOptions = { handshakeTimeout: OPEN_MS, perMessageDeflate: false };
  const socket = new WebSocket(toAddress(client, request), PROTOCOLS, Object.assign(own, options));
  const onAbort = () => socket.terminate();
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once("open", resolve);
      socket.once("unexpected-response", (_asked: ClientRequest, answer) => {
        readRefusal(answer).then(reject, reject);
      });
      socket.on("error", (cause) => reject(toRefusal(undefined, undefined, { cause })));
    });
    return socket;
  } catch (error) {
    socket.terminate();
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

/** Resolves when the process runs. The signal counts until then. */
export async function openChannel(client: Client, request: ChannelRequest, signal: AbortSignal): Promise<Channel> {
  signal.throwIfAborted();
  const { promise: ended, resolve, reject } = Promise.withResolvers<number>();
  // Expected: nobody asks for the end of what was closed.
  ended.catch(() => undefined);
  const socket = await openSocket(client, request, signal);
  let code: number | undefined;
  const pinging = setInterval(() => socket.ping(), PING_MS).unref();
  socket.on("message", (data, isBinary) => {
    const bytes = Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data as ArrayBuffer);
    const channel = bytes[0];
    const payload = bytes.subarray(1);
    // An empty message opens a stream and says nothing.
    if (!isBinary || payload.length === 0) return;
    if (channel === CHANNEL.status) {
      try {
        code = parseStatus(payload);
        setTimeout(() => socket.close(), HANG_UP_MS).unref();
      } catch (error) {
        reject(error);
        socket.close();
      }
    } else if (channel === CHANNEL.stdout) request.onOutput("stdout", payload);
    else if (channel === CHANNEL.stderr) request.onOutput("stderr", payload);
  });
  socket.once("close", () => {
    clearInterval(pinging);
    if (code !== undefined) resolve(code);
    reject(new AppError("sandbox.unavailable", "Kubernetes: the connection to a command broke off"));
  });
  const send = (channel: number, bytes: Uint8Array) => {
    if (socket.readyState !== WebSocket.OPEN) return;
    const frame = Buffer.allocUnsafe(bytes.length + 1);
    frame[0] = channel;
    frame.set(bytes, 1);
    socket.send(frame);
  };
  return {
    ended,
    write: (bytes) => {
      for (let from = 0; from < bytes.length; from += FRAME_BYTES)
        send(CHANNEL.stdin, bytes.subarray(from, from + FRAME_BYTES));
    },
    pause: () => socket.pause(),
    resume: () => socket.resume(),
    resize: (columns, rows) => send(CHANNEL.resize, Buffer.from(JSON.stringify({ Width: columns, Height: rows }))),
    close: () => {
      socket.close();
      // Whoever does not answer is left alone.
      setTimeout(() => socket.terminate(), 1_000).unref();
    },
  };
}
