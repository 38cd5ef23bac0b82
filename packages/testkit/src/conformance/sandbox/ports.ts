/** Ports of a sandbox, reached from outside of it. */
import { text, buffer } from "node:stream/consumers";
import type { Duplex } from "node:stream";
import { expect } from "vitest";
import type { SandboxRef } from "../../../../server/src/ports/sandbox-provider.ts";
import { refusal, untilFact, type Given, type ProviderPromise } from "./given.ts";

/** Sends back what it is sent, and notes every connection that ended. */
const ECHO = `
const [, port, notes] = process.argv;
const server = require("node:net").createServer({ allowHalfOpen: true }, (socket) => {
  socket.on("error", () => undefined).once("close", () => require("node:fs").appendFileSync(notes + "/closed", "x"));
  socket.pipe(socket);
});
server.listen(Number(port), "127.0.0.1", () => require("node:fs").writeFileSync(notes + "/ready", ""));`;

async function listen(given: Given, ref: SandboxRef, port: number): Promise<string> {
  const notes = await given.directory(ref);
  const argv = ["node", "-e", ECHO, String(port), notes] as const;
  await given.provider.startDetached(ref, { argv }, given.signal);
  await untilFact("it listens", async () => (await given.shell(ref, `ls ${notes}`)).includes("ready"));
  return notes;
}

async function connect(given: Given, ref: SandboxRef, port: number, signal = given.signal): Promise<Duplex> {
  const connection = await given.provider.connect?.(ref, port, signal);
  if (connection === undefined) throw new Error("the provider has no way to a port");
  return connection;
}

export const PORT_PROMISES: readonly ProviderPromise[] = [
  {
    title:
      "a port of the sandbox's loopback is reached: bytes go both ways, and the end of one way is not that of the other",
    needs: "connect",
    keep: async (given) => {
      const ref = await given.sharedSandbox();
      await listen(given, ref, 4_001);
      const connection = await connect(given, ref, 4_001);
      const sent = Buffer.from(Array.from({ length: 3_000_000 }, (_, index) => index % 251));
      connection.end(sent);
      expect((await buffer(connection)).equals(sent)).toBe(true);
    },
  },
  {
    title: "connections to one port are apart from each other",
    needs: "connect",
    keep: async (given) => {
      const ref = await given.sharedSandbox();
      await listen(given, ref, 4_002);
      const both = await Promise.all([connect(given, ref, 4_002), connect(given, ref, 4_002)]);
      const heard = both.map((connection, index) => {
        connection.end(`of ${index}`);
        return text(connection);
      });
      expect(await Promise.all(heard)).toEqual(["of 0", "of 1"]);
    },
  },
  {
    title: "a connection that is hung up on is over inside too",
    needs: "connect",
    keep: async (given) => {
      const ref = await given.sharedSandbox();
      const notes = await listen(given, ref, 4_003);
      const connection = await connect(given, ref, 4_003);
      connection.write("?");
      await new Promise((resolve) => connection.once("data", resolve));
      connection.destroy();
      await untilFact("it is over inside", async () => (await given.shell(ref, `ls ${notes}`)).includes("closed"));
    },
  },
  {
    title: "a port where nothing listens is said to be one, and no connection is made for who gave up",
    needs: "connect",
    keep: async (given) => {
      const ref = await given.sharedSandbox();
      await expect(connect(given, ref, 4_004)).rejects.toEqual(refusal("port.not_answering"));
      await expect(connect(given, ref, 4_004, AbortSignal.abort())).rejects.toBeDefined();
    },
  },
];
