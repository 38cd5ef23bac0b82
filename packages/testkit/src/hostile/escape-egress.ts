/** Through the proxy to where it must not lead. */
import { once } from "node:events";
import { createServer as createHttp, type IncomingMessage } from "node:http";
import { createServer, type AddressInfo, type Server } from "node:net";
import type { SandboxId } from "@drover/contract";
import { toEgressRule, type EgressPolicy } from "@drover/core";
import { expect, onTestFinished } from "vitest";
import { openEgressProxy } from "../../../server/src/adapters/egress-proxy.ts";
import { toJudge } from "../../../server/src/app/govern-egress.ts";
import type { SandboxRef } from "../../../server/src/ports/sandbox-provider.ts";
import type { Attempt, Scene } from "./attempt.ts";

const PROXY_PORT = 3128;

/** Arguments of `connect`, by which the proxy is reached from inside. */
const toDoor = ({ ground: { proxy } }: Scene): string =>
  typeof proxy === "number" ? `${proxy}, "127.0.0.1"` : JSON.stringify(proxy);

interface Way {
  readonly notes: readonly string[];
  readonly resolved: readonly string[];
  /** Sends each text to the proxy on a connection of its own, from inside, and gives what came back. */
  say(...texts: readonly string[]): Promise<readonly string[]>;
}

interface WayOptions {
  readonly network?: EgressPolicy["network"];
  readonly rules?: readonly string[];
  readonly privateRules?: readonly string[];
  readonly ownPort?: number;
  /** Answers to the n-th question for a name. */
  readonly answer?: (host: string, nth: number) => readonly string[];
}

const toRules = (texts: readonly string[], mayBePrivate: boolean) =>
  texts.flatMap((text) => toEgressRule(text, [443, 80], mayBePrivate) ?? []);

async function openWay(given: Scene, ref: SandboxRef, options: WayOptions = {}): Promise<Way> {
  const directory = given.provider.socketDirectory(ref);
  if (directory === undefined) throw new Error("the provider has no socket directory");
  const policy: EgressPolicy = {
    network: options.network ?? "open",
    rules: [...toRules(options.rules ?? [], false), ...toRules(options.privateRules ?? [], true)],
    openPorts: [443, 80],
    own: { addresses: [], port: options.ownPort ?? 18_000 },
  };
  const [notes, resolved]: [string[], string[]] = [[], []];
  const proxy = openEgressProxy({
    resolve: async (host) => {
      resolved.push(host);
      const isAddress = /^[\d.]+$|:/.test(host);
      return isAddress ? [host] : (options.answer?.(host, resolved.filter((one) => one === host).length) ?? []);
    },
  });
  const judge = toJudge(
    async () => policy,
    (authority, outcome, reason) => notes.push(`${authority} ${outcome} ${reason}`),
  );
  await proxy.open("drover-00000000-000000" as SandboxId, directory, judge);
  onTestFinished(() => proxy.closeAll());
  const program = (texts: readonly string[]) => `
    const say = (text) => new Promise((resolve) => {
      const chunks = [];
      const socket = require("node:net").connect(${toDoor(given)}).on("data", (data) => chunks.push(data));
      const done = () => resolve(Buffer.concat(chunks).toString("latin1"));
      socket.on("error", () => undefined).on("close", done).setTimeout(4000, () => socket.destroy());
      socket.write(Buffer.from(text, "latin1"));
    });
    Promise.all(${JSON.stringify(texts)}.map(say)).then((all) => console.log(JSON.stringify(all)));`;
  return {
    notes,
    resolved,
    say: async (...texts) => JSON.parse(await given.tryNode(ref, program(texts))) as string[],
  };
}

async function listen(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** Counts who comes to a server on the host's loopback. */
async function listenCanary(): Promise<{ port: number; visits: () => number }> {
  let visits = 0;
  const port = await listen(createServer((socket) => ((visits += 1), socket.end("reached the host"))));
  return { port, visits: () => visits };
}

const connectTo = (authority: string) => `CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`;
const getOf = (url: string) => `GET ${url} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`;
const isRefused = (answer: string) => /^HTTP\/1\.1 (?:400|403|502) /.test(answer);

export const ESCAPE_EGRESS: readonly Attempt[] = [
  {
    title: "metadata, loopback, private, mapped and translated addresses are refused in every policy, also open",
    fails: async (given) => {
      const way = await openWay(given, await given.attacker());
      const hosts = [
        "169.254.169.254",
        "[fd00:ec2::254]",
        "[fe80::a9fe:a9fe]",
        "127.0.0.1",
        "[::1]",
        "0.0.0.0",
        "[::]",
        "10.0.0.1",
        "172.16.0.1",
        "192.168.0.1",
        "100.100.100.200",
        "[::ffff:169.254.169.254]",
        "[::ffff:a9fe:a9fe]",
        "[64:ff9b::a9fe:a9fe]",
        "[2002:a9fe:a9fe::]",
        "224.0.0.1",
        "255.255.255.255",
      ];
      const tricks = [
        "2852039166",
        "0xa9fea9fe",
        "0251.0376.0251.0376",
        "169.254.43518",
        "127.1",
        "[::1%lo]",
        "127.0.0.1%00.test",
        "①②⑦.⓪.⓪.①",
      ];
      const answers = await way.say(
        ...hosts.map((host) => connectTo(`${host}:80`)),
        ...hosts.map((host) => getOf(`http://${host}/latest/meta-data/`)),
        ...tricks.map((host) => connectTo(`${host}:80`)),
        ...tricks.map((host) => getOf(`http://${host}/`)),
      );
      expect(answers.filter((answer) => !isRefused(answer) && answer !== "")).toEqual([]);
      expect(way.notes.filter((note) => note.includes("allowed"))).toEqual([]);
    },
  },
  {
    title: "a name that means another machine a moment later is dialled where it was judged, and asked for once",
    fails: async (given) => {
      const canary = await listenCanary();
      const good = createServer((socket) => socket.end("reached the judged one"));
      good.listen(canary.port, "127.0.0.2");
      await once(good, "listening");
      onTestFinished(() => void good.close());
      const target = `rebind.test:${canary.port}`;
      const way = await openWay(given, await given.attacker(), {
        network: "allowlist",
        privateRules: [target],
        answer: (_, nth) => (nth === 1 ? ["127.0.0.2"] : ["127.0.0.1"]),
      });
      expect(await way.say(connectTo(target))).toEqual([expect.stringContaining("reached the judged one")]);
      expect(way.resolved).toEqual(["rebind.test"]);
      expect(canary.visits()).toBe(0);
    },
  },
  {
    title: "a name that turns into this machine, or names it beside another, is refused",
    fails: async (given) => {
      const canary = await listenCanary();
      const rules = [`turned.test:${canary.port}`, `mixed.test:${canary.port}`];
      const way = await openWay(given, await given.attacker(), {
        rules,
        answer: (host) => (host === "mixed.test" ? ["192.0.2.1", "127.0.0.1"] : ["127.0.0.1"]),
      });
      const answers = await way.say(...rules.map(connectTo), ...rules.map((rule) => getOf(`http://${rule}/`)));
      expect(answers.filter((answer) => !isRefused(answer))).toEqual([]);
      expect(canary.visits()).toBe(0);
      expect(way.notes.filter((note) => note.includes("allowed"))).toEqual([]);
    },
  },
  {
    title: "the proxy's own port, this server's port and a canary on loopback are not reached through it",
    fails: async (given) => {
      const canary = await listenCanary();
      const way = await openWay(given, await given.attacker(), {
        ownPort: canary.port,
        // Even where the operator allowed the name: this port is the server itself.
        privateRules: [`self.test:${canary.port}`, `127.0.0.1:${canary.port}`],
        answer: () => ["127.0.0.1"],
      });
      const answers = await way.say(
        connectTo(`127.0.0.1:${PROXY_PORT}`),
        connectTo(`localhost:${PROXY_PORT}`),
        connectTo(`self.test:${canary.port}`),
        getOf(`http://127.0.0.1:${canary.port}/`),
        getOf(`http://localhost:${canary.port}/`),
      );
      expect(answers.filter((answer) => !isRefused(answer))).toEqual([]);
      expect(canary.visits()).toBe(0);
    },
  },
  {
    title: "a request hidden in another, by lengths, line breaks or headers, is never sent",
    fails: async (given) => {
      const seen: string[] = [];
      const port = await listen(
        createHttp((request: IncomingMessage, response) => {
          seen.push(`${request.method} ${request.url} ${request.headers.host} ${JSON.stringify(request.headers)}`);
          request.resume().on("end", () => response.end("answer"));
        }),
      );
      const way = await openWay(given, await given.attacker(), {
        network: "allowlist",
        privateRules: [`web.test:${port}`],
        answer: () => ["127.0.0.1"],
      });
      const url = `http://web.test:${port}`;
      const hidden = `GET ${url}/hidden HTTP/1.1\r\nHost: evil.test\r\n\r\n`;
      await way.say(
        `POST ${url}/a HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${hidden}`,
        `POST ${url}/b HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nContent-Length: ${hidden.length}\r\n\r\n${hidden}`,
        `POST ${url}/c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked\r\n\r\n${hidden}`,
        `GET ${url}/d\nX-Injected: 1\n HTTP/1.1\r\nHost: x\r\n\r\n`,
        `GET ${url}/e%0d%0aX-Injected:%201 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
        `GET ${url}/f HTTP/1.1\r\nHost: x\r\nX: a\rX-Injected: 1\r\n\r\n`,
        `CONNECT web.test:${port}\r\nHost: evil.test HTTP/1.1\r\n\r\n`,
        `CONNECT evil.test:443@web.test:${port} HTTP/1.1\r\n\r\n`,
      );
      expect(
        seen.filter((line) => line.includes("hidden") || /"x-injected":/.test(line) || line.includes("evil.test")),
      ).toEqual([]);
      // Two requests on one connection: the second is judged like the first.
      const [both = ""] = await way.say(
        `GET ${url}/g HTTP/1.1\r\nHost: x\r\n\r\nGET http://evil.test/ HTTP/1.1\r\nHost: x\r\n\r\n`,
      );
      expect(both).toContain("answer");
      expect(way.resolved.filter((host) => host !== "web.test")).toEqual([]);
    },
  },
  {
    title: "the Host header and proxy headers of the inside decide nothing",
    fails: async (given) => {
      const canary = await listenCanary();
      const way = await openWay(given, await given.attacker(), {
        network: "allowlist",
        rules: ["good.test"],
        answer: () => ["203.0.113.9"],
      });
      const answers = await way.say(
        `GET http://evil.test/ HTTP/1.1\r\nHost: good.test\r\nConnection: close\r\n\r\n`,
        `CONNECT evil.test:443 HTTP/1.1\r\nHost: good.test:443\r\n\r\n`,
        `GET / HTTP/1.1\r\nHost: 127.0.0.1:${canary.port}\r\nConnection: close\r\n\r\n`,
        `GET http://good.test:${canary.port}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
        `GET http://good.test@127.0.0.1:${canary.port}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
        `GET http://127.0.0.1:${canary.port}\\@good.test/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
        `GET http://127.0.0.1:${canary.port}#@good.test/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`,
      );
      expect(answers.filter((answer) => !isRefused(answer))).toEqual([]);
      expect(canary.visits()).toBe(0);
    },
  },
  {
    title: "garbage, endless headers and a thousand idle connections leave the proxy as it was",
    fails: async (given) => {
      const ref = await given.attacker();
      const port = await listen(createServer((socket) => socket.end("answer")));
      const way = await openWay(given, ref, {
        network: "allowlist",
        privateRules: [`web.test:${port}`],
        answer: () => ["127.0.0.1"],
      });
      await way.say(
        "\0\x01\x02\xff".repeat(1_000),
        `GET http://web.test/ HTTP/1.1\r\nX: ${"a".repeat(200_000)}`,
        "CONNECT",
        "\r\n".repeat(5_000),
        `${"A".repeat(100_000)} / HTTP/1.1\r\n\r\n`,
      );
      await given.tryNode(
        ref,
        `let n = 0; for (let i = 0; i < 1000; i += 1) { const s = require("node:net").connect(${toDoor(given)}); s.on("error", () => undefined).on("close", () => undefined); s.write("GET http://web.test/ HTTP/1.1\\r\\n"); } setTimeout(() => process.exit(), 1500)`,
      );
      const [answer] = await way.say(connectTo(`web.test:${port}`));
      expect(answer).toContain("answer");
    },
  },
  {
    title: "without a way out the port inside answers nobody",
    fails: async (given) => {
      const ref = await given.sandbox();
      const said = await given.tryNode(
        ref,
        `require("node:net").connect(${toDoor(given)}).on("data", (data) => console.log(String(data))).on("error", () => undefined).on("close", () => console.log("closed")).write("CONNECT example.org:443 HTTP/1.1\\r\\n\\r\\n")`,
      );
      expect(said).toMatch(/^closed\n$/);
    },
  },
];
