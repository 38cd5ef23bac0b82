/** The way out of a sandbox without a network: a port on its loopback that leads to the server's proxy behind a unix socket. */
import { connect, createServer } from "node:net";

const SOCKET = "/run/cp/egress.sock";
const PORT = 3128;
const CONNECTIONS = 256;

/** Whoever comes first serves all: a port that is taken already leads to the same place. `isAlone`: this network has nothing but a
 *  loopback. To name it would load the resolver, which takes longer than all else that a supervisor does. */
export function forwardEgress({ isAlone }: { readonly isAlone: boolean }): void {
  const forwarder = createServer({ allowHalfOpen: true }, (inside) => {
    const outside = connect({ path: SOCKET, allowHalfOpen: true });
    inside.on("error", () => outside.destroy()).on("close", () => outside.destroy());
    outside.on("error", () => inside.destroy()).on("close", () => inside.destroy());
    inside.pipe(outside).pipe(inside);
  });
  forwarder.maxConnections = CONNECTIONS;
  forwarder.on("error", () => undefined);
  forwarder.listen(isAlone ? { port: PORT } : { port: PORT, host: "127.0.0.1" });
}
