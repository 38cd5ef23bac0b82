/** The sockets of hosted sandboxes: whoever connects inside is announced to the caller, who takes the connection over. */
import { chmod, open, rm } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { HostedSocket } from "@drover/contract";

/** One sandbox must not use up the server's descriptors. */
const CONNECTIONS = 64;
/** Until a connection that nobody takes is hung up on. */
const TAKEN_WITHIN_MS = 20_000;

export interface Caller {
  announce(id: string, socket: HostedSocket): void;
  /** It is not needed any more: there is another one, or the sandbox is gone. */
  dismiss(): void;
}

export interface Relays {
  /** Replaces what was open for the sandbox; ends with the signal. */
  open(key: string, directory: string, owner: string, caller: Caller, signal: AbortSignal): Promise<void>;
  /** A connection that was announced to this owner, once. */
  take(id: string, owner: string): Socket | undefined;
  close(key: string): Promise<void>;
  closeAll(): Promise<void>;
}

interface Relay {
  readonly caller: Caller;
  readonly servers: Server[];
  readonly connections: Set<Socket>;
}

async function listen(directory: string, name: HostedSocket, onConnection: (socket: Socket) => void): Promise<Server> {
  // By its open directory: the path of a unix socket has at most 107 bytes.
  const handle = await open(directory);
  try {
    const path = join(`/proc/self/fd/${handle.fd}`, name);
    await rm(path, { force: true });
    const server = createServer(onConnection);
    server.maxConnections = CONNECTIONS;
    await new Promise<void>((resolve, reject) => server.once("error", reject).listen(path, resolve));
    await chmod(path, 0o666);
    return server;
  } finally {
    await handle.close();
  }
}

export function openRelays(createId: () => string): Relays {
  const relays = new Map<string, Relay>();
  const waiting = new Map<string, { readonly socket: Socket; readonly owner: string }>();

  const end = async ({ servers, connections }: Relay) => {
    for (const socket of connections) socket.destroy();
    for (const server of servers) await new Promise<void>((resolve) => server.close(() => resolve()));
  };
  const close = async (key: string) => {
    const relay = relays.get(key);
    relays.delete(key);
    relay?.caller.dismiss();
    if (relay !== undefined) await end(relay);
  };

  return {
    open: async (key, directory, owner, caller, signal) => {
      await close(key);
      const relay: Relay = { caller, servers: [], connections: new Set() };
      relays.set(key, relay);
      const receive = (name: HostedSocket) => (socket: Socket) => {
        const id = createId();
        relay.connections.add(socket.pause());
        waiting.set(id, { socket, owner });
        const timer = setTimeout(() => socket.destroy(), TAKEN_WITHIN_MS);
        socket
          .on("error", () => undefined)
          .once("close", () => {
            clearTimeout(timer);
            waiting.delete(id);
            relay.connections.delete(socket);
          });
        caller.announce(id, name);
      };
      for (const name of HostedSocket.options) relay.servers.push(await listen(directory, name, receive(name)));
      const stop = () => {
        if (relays.get(key) === relay) relays.delete(key);
        void end(relay);
      };
      signal.addEventListener("abort", stop, { once: true });
      if (signal.aborted) stop();
    },
    take: (id, owner) => {
      const found = waiting.get(id);
      if (found === undefined || found.owner !== owner) return undefined;
      waiting.delete(id);
      return found.socket;
    },
    close,
    closeAll: async () => {
      for (const key of relays.keys()) await close(key);
    },
  };
}
