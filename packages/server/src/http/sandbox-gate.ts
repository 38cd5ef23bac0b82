/** Unix sockets through which sandboxes reach the API: whoever comes through one is that sandbox's worker. */
import { chmod, open, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { join } from "node:path";
import type { SandboxId } from "@drover/contract";
import type { SandboxGate } from "../ports/sandbox-gate.ts";

/** Reached through its open directory: the path of a unix socket has at most 107 bytes. */
const SOCKET = "api.sock";
/** One sandbox must not use up the server's descriptors. */
const CONNECTIONS = 64;

export function openSandboxGate(
  route: () => (request: IncomingMessage, response: ServerResponse) => void,
): SandboxGate & { closeAll(): Promise<void> } {
  const servers = new Map<SandboxId, Server>();

  const shut = async (sandboxId: SandboxId) => {
    const server = servers.get(sandboxId);
    if (server === undefined) return;
    servers.delete(sandboxId);
    server.closeAllConnections();
    await new Promise<void>((resolve) => server.close(() => resolve()));
  };

  return {
    open: async (sandboxId, directory, token) => {
      await shut(sandboxId);
      const handle = await open(directory);
      const path = join(process.platform === "linux" ? `/proc/self/fd/${handle.fd}` : directory, SOCKET);
      await rm(path, { force: true });
      const server = createServer((request, response) => {
        // Whatever the inside claims to be is dropped; what it is follows from the socket.
        delete request.headers.cookie;
        delete request.headers.origin;
        request.headers.authorization = `Bearer ${token}`;
        request.headers.host = "localhost";
        route()(request, response);
      });
      server.maxConnections = CONNECTIONS;
      await new Promise<void>((resolve, reject) => server.once("error", reject).listen(path, resolve));
      // Its directory is seen by this sandbox alone; inside it has another uid than we have.
      await chmod(path, 0o666);
      await handle.close();
      servers.set(sandboxId, server);
    },
    close: shut,
    closeAll: async () => {
      for (const sandboxId of servers.keys()) await shut(sandboxId);
    },
  };
}
