/** The way out of a sandbox that the server made: its variables, its decisions in the log, and none where none was asked for. */
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { collect, untilFact } from "../../../testkit/src/conformance/sandbox/given.ts";
import { startTestServer, type TestServer } from "../../../testkit/src/server.ts";
import { loadSandbox } from "../store/sandboxes.ts";
import { parseEgressSettings } from "./govern-egress.ts";
import { toRef } from "./sandbox-key.ts";

const signal = new AbortController().signal;
const canary = createServer((socket) => socket.end("from outside"));
let port = 0;
let server: TestServer;

beforeAll(async () => {
  // Set, so that neither program need be asked for its default.
  vi.stubEnv("npm_config_registry", "https://mirror.test/npm/");
  vi.stubEnv("PIP_INDEX_URL", "https://name:secret@mirror.test/simple/");
  canary.listen(0, "127.0.0.1");
  await once(canary, "listening");
  port = (canary.address() as AddressInfo).port;
  server = await startTestServer({ config: { egressAllowPrivate: `127.0.0.1:${port}` } });
});

afterAll(async () => {
  await server?.stop();
  canary.close();
  vi.unstubAllEnvs();
});

async function makeSandbox(network: string) {
  const body = {
    provider: "local",
    runtime: "scripted",
    script: { steps: [{ wait: 600 }] },
    network,
    resources: { memory_gb: 0.5 },
  };
  const { id } = (await server.call("POST", "/sandboxes", { body })).body as { id: string };
  const look = async () =>
    (await server.call("GET", `/sandboxes/${id}`)).body as { state: string; state_cause: string };
  await untilFact("it runs", async () => {
    const { state, state_cause } = await look();
    if (state === "failed") throw new Error(state_cause);
    return state === "running";
  });
  const row = await loadSandbox.one(server.db, id as Parameters<typeof loadSandbox.one>[1]);
  const provider = await server.deps.providers.open("local");
  const run = async (program: string) => {
    const command = { argv: ["node", "-e", program] as const, timeoutMs: 10_000 };
    const { stdout, stderr } = await collect(provider.exec(toRef(server.deps.installation, row), command, signal));
    return stdout.toString() + stderr.toString();
  };
  const listEgress = async () => {
    const found = await server.call("GET", `/sandboxes/${id}/events?event_type=sandbox.egress&order=asc`);
    return (found.body.events as { event_data: object; source: string }[]).map(({ event_data, source }) => ({
      ...event_data,
      source,
    }));
  };
  return { id, run, listEgress };
}

const connectTo = (authority: string) =>
  `require("node:net").connect(3128, "127.0.0.1").on("error", (e) => console.log(e.code)).on("close", () => console.log("closed")).on("data", (d) => process.stdout.write(d)).write("CONNECT ${authority} HTTP/1.1\\r\\n\\r\\n")`;

test("what a sandbox reaches and tries to reach stands in its log, counted", { timeout: 120_000 }, async () => {
  const { run, listEgress } = await makeSandbox("allowlist");
  expect(await run(connectTo(`127.0.0.1:${port}`))).toContain("from outside");
  expect(await run(`fetch("http://evil.test/").catch((e) => console.log(e.cause.cause.message))`)).toContain(
    "Proxy response (403)",
  );
  await run(connectTo("169.254.169.254:80"));
  await untilFact("all three are told", async () => (await listEgress()).length >= 3);
  expect(await listEgress()).toEqual([
    { host: "127.0.0.1", port, decision: "allowed", reason: null, count: 1, source: "server" },
    { host: "evil.test", port: 80, decision: "refused", reason: "not_on_the_list", count: 1, source: "server" },
    { host: "169.254.169.254", port: 80, decision: "refused", reason: "not_on_the_list", count: 1, source: "server" },
  ]);
  const flood = `let n = 0; const next = () => { if (n++ < 500) require("node:net").connect(3128, "127.0.0.1").on("error", next).on("close", next).end("CONNECT h" + n + ".test:443 HTTP/1.1\\r\\n\\r\\n").resume(); }; next()`;
  await run(flood);
  expect((await listEgress()).length).toBeLessThan(60);
});

test(
  "programs inside learn of the proxy and of this machine's registries, without anybody's password",
  { timeout: 120_000 },
  async () => {
    const { run } = await makeSandbox("open");
    const env = JSON.parse(await run("console.log(JSON.stringify(process.env))")) as Record<string, string>;
    for (const name of ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"])
      expect(env[name]).toBe("http://127.0.0.1:3128");
    expect(env).toMatchObject({
      NO_PROXY: "localhost,127.0.0.1",
      NODE_USE_ENV_PROXY: "1",
      npm_config_registry: "https://mirror.test/npm/",
    });
    expect(JSON.stringify(env)).not.toContain("secret");
  },
);

test("a sandbox without a network has neither", { timeout: 120_000 }, async () => {
  const { run, listEgress } = await makeSandbox("none");
  const env = JSON.parse(await run("console.log(JSON.stringify(process.env))")) as Record<string, string>;
  expect(Object.keys(env).filter((name) => /proxy/i.test(name))).toEqual([]);
  expect(await run(connectTo(`127.0.0.1:${port}`))).toMatch(/^(?:ECONNRESET\n)?closed\n$/);
  expect(await listEgress()).toEqual([]);
});

test("a setting that names no host is an error that names it", () => {
  const settings = { egressPorts: "443, 80", egressAllow: undefined, egressAllowPrivate: undefined };
  expect(parseEgressSettings(settings)).toEqual({ ports: [443, 80], rules: [] });
  const wrong = [
    { egressAllow: "good.test,http://bad.test" },
    { egressAllowPrivate: "*.internal" },
    { egressPorts: "http" },
    { egressPorts: "" },
  ];
  for (const one of wrong)
    expect(() => parseEgressSettings({ ...settings, ...one })).toThrow(
      expect.objectContaining({ code: "config.invalid" }),
    );
});
