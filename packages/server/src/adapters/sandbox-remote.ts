/** Sandboxes that another Drover runs. What is theirs to keep (isolation, limits) is theirs to tell; how a sandbox reaches this server is
 *  a relay: a program inside connects to a socket there, and this server, which dialled the other one, leads it to its own. */
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import {
  AppError,
  HostedAbout,
  HostedExit,
  HostedFile,
  HostedInfo,
  HostedRef,
  type HostedRequest,
} from "@drover/contract";
import { z } from "zod";
import type { ExecCommand, ExecEvent, SandboxProvider, SandboxRef, Terminal } from "../ports/sandbox-provider.ts";
import { connectThere } from "./remote/connect.ts";
import { ask, openCall, type RemoteOptions as Remote } from "./remote/call.ts";
import { openRelay, type Relay } from "./remote/relay.ts";

export interface RemoteOptions {
  /** Of the other Drover; undefined: none is configured. */
  readonly url: string | undefined;
  readonly token: string | undefined;
  /** Where this server's sockets for hosted sandboxes are kept. */
  readonly base: string;
}

const ABOUT_MS = 20_000;
const NOTHING = z.unknown();
const Snapshot = z.object({ snapshot: z.string() });
const TerminalExit = z.object({ code: z.int().nullable() });

const KILLED = { type: "exit", code: null, signal: "SIGKILL", isTimedOut: false, isOomKilled: false } as const;

function toRequest<Op extends "exec" | "start">(op: Op, { key }: SandboxRef, command: ExecCommand) {
  const { argv, cwd, env, timeoutMs } = command;
  const [program, ...rest] = argv;
  const words: [string, ...string[]] = [program, ...rest];
  return {
    op,
    key,
    argv: words,
    ...(cwd === undefined ? {} : { cwd }),
    ...(env === undefined ? {} : { env: { ...env } }),
    ...(op === "exec" && timeoutMs !== undefined ? { timeout_ms: timeoutMs } : {}),
  };
}

async function* exec(
  remote: Remote,
  ref: SandboxRef,
  command: ExecCommand,
  signal: AbortSignal,
): AsyncGenerator<ExecEvent> {
  if (signal.aborted) return yield KILLED;
  const call = openCall(remote, toRequest("exec", ref, command), signal);
  try {
    call.send(command.stdin ?? new Uint8Array());
    call.say({ type: "end" });
    for await (const { stream, chunk } of call.bytes) yield { type: stream, chunk };
    yield { type: "exit", ...HostedExit.parse(await call.result) };
  } catch (error) {
    // Expected: the caller's abort. Hanging up has killed the command there.
    if (!signal.aborted) throw error;
    yield KILLED;
  } finally {
    call.close();
  }
}

async function openTerminal(
  remote: Remote,
  { key }: SandboxRef,
  size: { readonly columns: number; readonly rows: number },
  signal: AbortSignal,
): Promise<Terminal> {
  const call = openCall(remote, { op: "terminal", key, ...size }, signal);
  await call.ready;
  let isClosed = false;
  const output = async function* (): AsyncGenerator<Uint8Array> {
    try {
      for await (const { chunk } of call.bytes) yield chunk;
    } catch (error) {
      // Expected: whoever opened it closed it.
      if (!isClosed && !signal.aborted) throw error;
    }
  };
  return {
    output: output(),
    write: (bytes) => call.send(bytes),
    resize: (columns, rows) => call.say({ type: "resize", columns, rows }),
    // A terminal whose connection is lost is over; its code is not known.
    exited: call.result.then(
      (value) => TerminalExit.parse(value),
      () => ({ code: null }),
    ),
    close: () => {
      isClosed = true;
      call.close();
    },
  };
}

async function download(
  remote: Remote,
  request: Extract<HostedRequest, { op: "download" }>,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const call = openCall(remote, request, signal);
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const { chunk } of call.bytes) {
      size += chunk.length;
      // Whatever the other side was told.
      if (size > request.limit) throw new AppError("sandbox.rejected", `the file has more than ${request.limit} bytes`);
      chunks.push(chunk);
    }
    return Buffer.concat(chunks);
  } finally {
    call.close();
  }
}

async function loadAbout(remote: Remote): Promise<z.infer<typeof HostedAbout>> {
  try {
    return await ask(remote, { op: "about" }, HostedAbout, AbortSignal.timeout(ABOUT_MS));
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new AppError("provider.unavailable", `the other Drover (${remote.url}) has no sandboxes for us: ${reason}`, {
      cause,
    });
  }
}

export async function openRemote({ url, token, base }: RemoteOptions): Promise<SandboxProvider> {
  if (url === undefined || token === undefined)
    throw new AppError(
      "provider.unavailable",
      "provider remote needs another Drover: set DROVER_REMOTE_URL and DROVER_REMOTE_TOKEN",
    );
  const remote: Remote = { url, token };
  const { capabilities } = await loadAbout(remote);
  const relays = new Map<string, Relay>();
  const directoryOf = (key: string) => join(base, key);
  const askFor = (request: HostedRequest, signal: AbortSignal, input?: Uint8Array) =>
    ask(remote, request, NOTHING, signal, input);

  return {
    name: "remote",
    capabilities: { ...capabilities, egressPolicy: capabilities.socketDirectory, mounts: false },
    ensure: async ({ key, labels, limits, env, image, snapshot }, signal) => {
      const request = {
        op: "ensure" as const,
        key,
        labels: { ...labels },
        limits,
        env: { ...env },
        ...(image === undefined ? {} : { image }),
        ...(snapshot === undefined ? {} : { snapshot }),
      };
      const ref = await ask(remote, request, HostedRef, signal);
      if (!capabilities.socketDirectory) return ref;
      await mkdir(directoryOf(key), { recursive: true, mode: 0o700 });
      if (!relays.has(key)) relays.set(key, openRelay(remote, key, directoryOf(key)));
      await relays.get(key)?.isOpen;
      return ref;
    },
    exec: (ref, command, signal) => exec(remote, ref, command, signal),
    startDetached: async (ref, command, signal) => {
      await askFor(toRequest("start", ref, command), signal, command.stdin ?? new Uint8Array());
    },
    openTerminal: (ref, size, signal) => openTerminal(remote, ref, size, signal),
    connect: ({ key }, port, signal) => connectThere(remote, key, port, signal),
    upload: async ({ key }, path, bytes, { mode }, signal) => {
      await askFor({ op: "upload", key, path, ...(mode === undefined ? {} : { mode }) }, signal, bytes);
    },
    download: ({ key }, path, limit, signal) => download(remote, { op: "download", key, path, limit }, signal),
    listFiles: ({ key }, path, signal) => ask(remote, { op: "files", key, path }, z.array(HostedFile), signal),
    socketDirectory: ({ key }) => (capabilities.socketDirectory ? directoryOf(key) : undefined),
    info: async ({ key }, signal) =>
      (await ask(remote, { op: "info", key }, HostedInfo.nullable(), signal)) ?? undefined,
    list: (labels, signal) => ask(remote, { op: "list", labels: { ...labels } }, z.array(HostedRef), signal),
    pause: async ({ key }, signal) => void (await askFor({ op: "pause", key }, signal)),
    resume: async ({ key }, signal) => void (await askFor({ op: "resume", key }, signal)),
    snapshot: ({ key }, name, signal) => ask(remote, { op: "snapshot", key, name }, Snapshot, signal),
    destroy: async ({ key }, signal) => {
      relays.get(key)?.close();
      relays.delete(key);
      await askFor({ op: "destroy", key }, signal);
      await rm(directoryOf(key), { recursive: true, force: true });
    },
    close: async () => {
      for (const relay of relays.values()) relay.close();
    },
  };
}
