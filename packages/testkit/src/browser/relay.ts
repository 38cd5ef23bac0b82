/** A cable between browser and server that can be cut: one address for the browser, whatever becomes of the server behind it. */
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";

export interface Relay {
  readonly url: string;
  /** Where new connections go; undefined refuses them. */
  target: number | undefined;
  /** Breaks every live stream at once; resolves to how many there were. */
  cutStreams(): number;
  cutAll(): void;
  close(): Promise<void>;
}

const UPGRADE = Buffer.from("/ws/events");

export async function startRelay(target: number): Promise<Relay> {
  const streams = new Set<Socket>();
  const all = new Set<Socket>();
  const server = createServer((near) => {
    if (relay.target === undefined) return near.destroy();
    const far = connect(relay.target, "127.0.0.1");
    const destroy = () => {
      near.destroy();
      far.destroy();
      streams.delete(near);
      all.delete(near);
    };
    all.add(near);
    // A browser may reuse a connection, so every request is looked at.
    near.on("data", (part: Buffer) => part.includes(UPGRADE) && streams.add(near));
    for (const socket of [near, far]) socket.on("error", destroy).on("close", destroy);
    near.pipe(far);
    far.pipe(near);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const relay: Relay = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    target,
    cutStreams: () => {
      const open = [...streams];
      for (const socket of open) socket.destroy();
      return open.length;
    },
    cutAll: () => {
      for (const socket of all) socket.destroy();
    },
    close: async () => {
      relay.cutAll();
      server.close();
      await once(server, "close");
    },
  };
  return relay;
}
