/** Through its gate a sandbox is its own worker, and nothing else, whatever it claims to be. */
import { api, API_BASE, type SandboxId } from "@drover/contract";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { SandboxProvider, SandboxRef } from "../../../server/src/ports/sandbox-provider.ts";
import { collect, LIMITS, untilFact, unique } from "../conformance/sandbox/given.ts";
import { ADMIN_TOKEN, type TestSandbox, type TestServer } from "../server.ts";

const signal = new AbortController().signal;

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Sends this many bytes instead. */
  readonly size?: number;
}

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

const PROGRAM = `
  const http = require("node:http");
  const ask = ({ method, path, headers, body, size }) => new Promise((resolve) => {
    const request = http.request({ socketPath: "/run/cp/api.sock", method, path, headers: { "content-type": "application/json", ...headers } }, (response) => {
      const chunks = [];
      response.on("data", (data) => chunks.push(data)).on("end", () => resolve({ status: response.statusCode, headers: response.headers, text: Buffer.concat(chunks).toString().slice(0, 3000) }));
    });
    request.on("error", (error) => resolve({ status: 0, headers: {}, text: String(error) }));
    request.end(size === undefined ? body : Buffer.alloc(size, "x"));
  });
  (async () => { const all = []; for (const one of JSON.parse(process.env.ASKED)) all.push(await ask(one)); console.log(JSON.stringify(all)); })();`;

export interface GateSuite {
  readonly name: "local" | "docker";
  readonly start: () => Promise<TestServer>;
}

export function describeGate({ name, start }: GateSuite): void {
  describe(`hostile code at its gate: ${name}`, () => {
    let server: TestServer;
    let provider: SandboxProvider;
    let attacker: TestSandbox;
    let victim: TestSandbox;
    let ref: SandboxRef;

    /** Asks from inside of the attacker's sandbox. */
    async function ask(...asked: readonly Asked[]): Promise<readonly Answer[]> {
      const env = { ASKED: JSON.stringify(asked) };
      const { stdout } = await collect(provider.exec(ref, { argv: ["node", "-e", PROGRAM], env }, signal));
      return JSON.parse(stdout.toString()) as Answer[];
    }

    const eventsOf = async (id: SandboxId) =>
      (await server.call("GET", `/sandboxes/${id}/events?limit=500`)).body.events as {
        event_type: string;
        event_data: Record<string, unknown>;
      }[];

    beforeAll(async () => {
      server = await start();
      provider = await server.deps.providers.open(name);
      attacker = await server.createSandbox();
      victim = await server.createSandbox();
      const key = unique("hostile");
      ref = await provider.ensure({ key, labels: { hostile: key }, limits: LIMITS, env: {} }, signal);
      await server.deps.gate.open(attacker.id, provider.socketDirectory(ref) ?? "", attacker.token);
    });

    afterAll(async () => {
      if (ref !== undefined) await provider.destroy(ref, signal);
      await server?.stop();
    });

    const post = (id: string, word: string, headers: Readonly<Record<string, string>> = {}): Asked => ({
      method: "POST",
      path: `${API_BASE}/sandboxes/${id}/events`,
      headers,
      body: JSON.stringify({ event_type: "agent.message", event_data: { word } }),
    });

    test("its own events are stored as its own", async () => {
      const word = unique("own");
      const [answer] = await ask(post(attacker.id, word));
      expect(answer).toMatchObject({ status: 200 });
      expect(JSON.stringify(await eventsOf(attacker.id))).toContain(word);
    });

    test("events of another sandbox cannot be forged, by path, credential, cookie, host or forwarding headers", async () => {
      const word = unique("forged");
      const claims: Readonly<Record<string, string>>[] = [
        {},
        { authorization: `Bearer ${victim.token}` },
        { authorization: `Bearer ${ADMIN_TOKEN}` },
        { cookie: `drover_session=${ADMIN_TOKEN}` },
        { host: `${victim.id}.localhost`, "x-forwarded-for": "127.0.0.1", "x-forwarded-host": "localhost" },
        { "x-sandbox-id": victim.id, "x-original-url": `/api/v1/sandboxes/${victim.id}/events` },
        { origin: server.url },
      ];
      const answers = await ask(...claims.map((headers) => post(victim.id, word, headers)));
      expect(answers.map(({ status }) => status)).toEqual(claims.map(() => 404));
      const paths = [
        `${attacker.id}/../${victim.id}`,
        `${attacker.id}/%2e%2e/${victim.id}`,
        `${attacker.id}%2f..%2f${victim.id}`,
        `./${victim.id}`,
        `${victim.id}/`,
        `//${victim.id}`,
        `${victim.id.toUpperCase()}`,
      ];
      const odd = await ask(...paths.map((path) => post(path, word)));
      expect(odd.filter(({ status }) => status < 400)).toEqual([]);
      expect(JSON.stringify(await eventsOf(victim.id))).not.toContain(word);
    });

    test("a credential in the request changes nothing: it stays the sandbox", async () => {
      const word = unique("self");
      const claims = [
        { authorization: `Bearer ${ADMIN_TOKEN}` },
        { authorization: "Bearer nonsense" },
        { cookie: "drover_session=x" },
        { host: "evil.test" },
      ];
      const answers = await ask(...claims.map((headers) => post(attacker.id, word, headers)));
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
      const stored = (await eventsOf(attacker.id)).filter(({ event_data }) => event_data["word"] === word);
      expect(stored).toHaveLength(4);
    });

    test("nothing that is for people answers through the gate, with or without an admin's token", async () => {
      const person = Object.values(api).filter(({ access }) => access === "person");
      const asked = person.flatMap((endpoint) =>
        [{}, { authorization: `Bearer ${ADMIN_TOKEN}` }].map((headers) => ({
          method: endpoint.method,
          path: API_BASE + endpoint.path.replace(":sandbox_id", attacker.id).replaceAll(/:\w+/g, "x"),
          headers,
          ...(endpoint.method === "GET" || endpoint.method === "DELETE" ? {} : { body: "{}" }),
        })),
      );
      const answers = await ask(...asked);
      const reached = asked
        .filter((_, index) => ![401, 403, 404].includes(answers[index]?.status ?? 0))
        .map(({ method, path }) => `${method} ${path}`);
      expect(reached).toEqual([]);
    });

    test("metrics, the live stream and events of the server's own are closed to it", async () => {
      const own = { method: "POST", path: `${API_BASE}/sandboxes/${attacker.id}/events` };
      const upgrade = {
        connection: "Upgrade",
        upgrade: "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": "eA==",
        authorization: `Bearer ${ADMIN_TOKEN}`,
      };
      const answers = await ask(
        { method: "GET", path: "/metrics", headers: { authorization: `Bearer ${ADMIN_TOKEN}` } },
        { method: "GET", path: `${API_BASE}/ws/events`, headers: upgrade },
        { ...own, body: JSON.stringify({ event_type: "sandbox.egress", event_data: { host: "x" } }) },
        { ...own, body: JSON.stringify({ event_type: "agent.message", source: "server" }) },
        { ...own, body: JSON.stringify({ event_type: "STATE_CHANGED", event_data: { to: "completed" } }) },
      );
      expect(answers.filter(({ status }) => status < 400)).toEqual([]);
    });

    test("a body of 9 MiB is refused, and the gate goes on", async () => {
      const word = unique("after");
      const before = (await eventsOf(attacker.id)).length;
      const [large, after] = await ask({ ...post(attacker.id, ""), size: 9 * 1024 * 1024 }, post(attacker.id, word));
      // Refused with an answer, or with a connection that is closed before all of it is sent.
      expect([413, 0]).toContain(large?.status);
      expect(after).toMatchObject({ status: 200 });
      expect((await eventsOf(attacker.id)).length).toBe(before + 1);
    });

    test("two thousand connections do not use up the server: others are served, and so is the sandbox afterwards", async () => {
      const program = `for (let i = 0; i < 2000; i += 1) { const s = require("node:net").connect("/run/cp/api.sock"); s.on("error", () => undefined); s.write("POST / HTTP/1.1\\r\\nHost: x\\r\\n"); } setTimeout(() => process.exit(), 1500)`;
      const flood = collect(provider.exec(ref, { argv: ["node", "-e", program] }, signal));
      expect(await server.request("GET", "/healthz")).toMatchObject({ status: 200 });
      await flood;
      await untilFact("the gate answers", async () => (await ask(post(attacker.id, "x")))[0]?.status === 200);
      expect(await server.request("GET", "/healthz")).toMatchObject({ status: 200 });
    });

    test("a message that is for another sandbox cannot be fetched", async () => {
      const content = unique("secret");
      await server.call("POST", `/sandboxes/${victim.id}/messages`, { body: { content } });
      const answers = await ask(
        { method: "GET", path: `${API_BASE}/sandboxes/${victim.id}/messages` },
        {
          method: "GET",
          path: `${API_BASE}/sandboxes/${attacker.id}/messages`,
          headers: { authorization: `Bearer ${victim.token}` },
        },
        { method: "GET", path: `${API_BASE}/sandboxes/${victim.id}/assignment` },
      );
      expect(JSON.stringify(answers)).not.toContain(content);
      expect(answers.map(({ status }) => status)).toEqual([404, 200, 404]);
    });

    test("no token lies inside", async () => {
      const { stdout } = await collect(
        provider.exec(
          ref,
          { argv: ["sh", "-c", "env; cat /proc/*/environ; grep -rs drv_ /workspace /home /run /tmp /opt/drover/etc"] },
          signal,
        ),
      );
      expect(stdout.toString()).not.toMatch(/drv_[us]_/);
    });
  });
}
