/** Sandboxes of another Drover keep what every provider promises; nobody has them who may not, and a whole run comes back through the relay. */
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { WebSocket } from "ws";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { HOSTED_PATH } from "@drover/contract";
import { describeSandboxProvider } from "../../../testkit/src/conformance/sandbox-provider.ts";
import { collect, LIMITS, unique } from "../../../testkit/src/conformance/sandbox/given.ts";
import { ADMIN_TOKEN, startTestServer, type TestServer } from "../../../testkit/src/server.ts";
import { openRemote } from "./sandbox-remote.ts";

const { signal } = new AbortController();
let host: TestServer;
let folder: string;

beforeAll(async () => {
  host = await startTestServer();
  folder = await mkdtemp(join(tmpdir(), "drover-remote-"));
});
afterAll(async () => {
  await host?.stop();
  await rm(folder, { recursive: true, force: true });
});

describeSandboxProvider({
  name: "remote",
  connects: true,
  capabilities: {
    pause: true,
    snapshot: true,
    terminal: true,
    socketDirectory: true,
    egressPolicy: true,
    mounts: false,
    survivesServer: true,
  },
  open: async () => {
    const { token } = await host.createToken("operator");
    const base = join(folder, "conformance");
    const open = () => openRemote({ url: host.url, token, base });
    const provider = await open();
    return { provider, reopen: open, close: () => provider.close() };
  },
});

/** A way to the other Drover that can be cut; whoever dials again gets through. */
async function openWay(url: string): Promise<{ readonly url: string; cut(): void }> {
  const open = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(Number(new URL(url).port), "127.0.0.1");
    for (const one of [near, far]) open.add(one.on("error", () => undefined).once("close", () => open.delete(one)));
    near.pipe(far).pipe(near);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const cut = () => {
    for (const socket of open) socket.destroy();
  };
  onTestFinished(() => {
    server.close();
    cut();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, cut };
}

const toSpec = () => ({ key: unique("hosted"), labels: { a: "b" }, limits: LIMITS, env: {} });

describe("who may have sandboxes here", () => {
  test("without a server and a token, or with one that is refused, there is no provider, and what to do is said", async () => {
    const base = join(folder, "refused");
    const unset = openRemote({ url: undefined, token: undefined, base });
    await expect(unset).rejects.toMatchObject({
      code: "provider.unavailable",
      message: expect.stringContaining("DROVER_REMOTE_URL"),
    });
    const viewer = await host.createToken("viewer");
    const narrow = await host.createToken("operator", await host.createProject());
    for (const token of ["drv_u_nobody", viewer.token, narrow.token])
      await expect(openRemote({ url: host.url, token, base })).rejects.toMatchObject({ code: "provider.unavailable" });
    const away = openRemote({ url: "http://127.0.0.1:1", token: ADMIN_TOKEN, base });
    await expect(away).rejects.toMatchObject({ code: "provider.unavailable" });
  });

  test("one owner has nothing of another, not even by the same key", async () => {
    const [mine, theirs] = await Promise.all(
      ["mine", "theirs"].map(async (name) => {
        const { token } = await host.createToken("operator");
        return openRemote({ url: host.url, token, base: join(folder, name) });
      }),
    );
    if (mine === undefined || theirs === undefined) throw new Error("two were opened");
    onTestFinished(async () => {
      await mine.close();
      await theirs.close();
    });
    const spec = toSpec();
    const ref = await mine.ensure(spec, signal);
    onTestFinished(() => mine.destroy(ref, signal));
    expect(await theirs.list({}, signal)).toEqual([]);
    expect(await theirs.info(ref, signal)).toBeUndefined();
    await expect(collect(theirs.exec(ref, { argv: ["true"] }, signal))).rejects.toMatchObject({
      code: "sandbox.unavailable",
    });
    await theirs.destroy(ref, signal);
    expect((await mine.info(ref, signal))?.state).toBe("running");
    // Neither are they taken for the host's own.
    const { body } = await host.call("POST", "/sandboxes/prune", { body: { all: true } });
    expect(JSON.stringify(body)).not.toContain(ref.id);
    expect((await mine.info(ref, signal))?.state).toBe("running");
  });

  test("a connection from inside is taken over by its own owner, once, and by nobody else", async () => {
    const [mine, theirs] = [await host.createToken("operator"), await host.createToken("operator")];
    const provider = await openRemote({ url: host.url, token: mine.token, base: join(folder, "taken") });
    const spec = toSpec();
    const ref = await provider.ensure(spec, signal);
    onTestFinished(async () => {
      await provider.destroy(ref, signal);
      await provider.close();
    });
    const dial = ({ token }: { readonly token: string }, query = "") =>
      new WebSocket(`${host.url.replace("http", "ws")}${HOSTED_PATH}${query}`, {
        headers: { authorization: `Bearer ${token}` },
      });
    const relay = dial(mine);
    relay.once("open", () => relay.send(JSON.stringify({ op: "relay", key: spec.key })));
    const said: string[] = [];
    relay.on("message", (data: Buffer) => said.push(data.toString()));
    await expect.poll(() => said.join()).toContain("ready");
    const program = 'require("node:net").connect("/run/cp/api.sock").pipe(process.stdout)';
    const inside = collect(provider.exec(ref, { argv: ["node", "-e", program] }, signal));
    await expect.poll(() => said.length).toBe(2);
    const query = `?connection=${JSON.parse(said[1] ?? "").id}`;
    const refused = async (token: { readonly token: string }) => {
      const [, response] = await once(
        dial(token, query).on("error", () => undefined),
        "unexpected-response",
      );
      return response.statusCode;
    };
    expect(await refused(theirs)).toBe(404);
    const taken = dial(mine, query);
    await once(taken, "open");
    expect(await refused(mine)).toBe(404);
    taken.send(Buffer.from("for its owner"));
    taken.close();
    expect((await inside).stdout.toString()).toBe("for its owner");
    relay.terminate();
  });

  test("what is no request is refused, and the server goes on", async () => {
    const answers = await Promise.all(
      ["{", "null", '{"op":"nothing"}', '{"op":"exec","key":"../x","argv":["a"]}', Buffer.from([1, 2])].map(
        (frame) =>
          new Promise<string>((resolve) => {
            const socket = new WebSocket(`${host.url.replace("http", "ws")}${HOSTED_PATH}`, {
              headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
            });
            socket.once("open", () => socket.send(frame)).once("message", (data: Buffer) => resolve(data.toString()));
          }),
      ),
    );
    for (const answer of answers)
      expect(JSON.parse(answer)).toMatchObject({ type: "refused", code: "request.invalid" });
  });
});

test("a run at another Drover reports to this one, also when the connection was lost, and no credential is there", async () => {
  const { token } = await host.createToken("operator");
  const way = await openWay(host.url);
  await using server = await startTestServer({ config: { remoteUrl: way.url, remoteToken: token } });
  const askProxy = `const socket = require("node:net").connect(3128, "127.0.0.1");
socket.write("CONNECT nobody.invalid:443 HTTP/1.1\\r\\nhost: nobody.invalid:443\\r\\n\\r\\n");
socket.on("error", (error) => console.log(error.message)).pipe(process.stdout);`;
  const script = {
    steps: [
      {
        command: { argv: ["sh", "-c", "env; cat /proc/*/environ /proc/*/cmdline | tr '\\0' '\\n'; ls /sys/class/net"] },
      },
      { command: { argv: ["node", "-e", askProxy] } },
      { edit: { path: "made.txt", content: "made there" } },
      { wait_for_message: { seconds: 600 } },
    ],
  };
  const body = { provider: "remote", runtime: "scripted", script, resources: { memory_gb: 0.5 } };
  const { id } = (await server.call("POST", "/sandboxes", { body })).body;
  const read = async () => (await server.call("GET", `/sandboxes/${id}/events?limit=500`)).text;
  await expect.poll(read).toContain("made there");
  const told = await read();
  // Decided here, and told in this log.
  expect(told).toContain("HTTP/1.1 403");
  await expect.poll(read).toContain("nobody.invalid");
  expect(told).not.toContain(token);
  expect(told).not.toMatch(/drv_[su]_/);
  expect((await server.call("GET", `/sandboxes/${id}`)).body).toMatchObject({ provider: "remote", state: "running" });
  // Whatever leads from there to here is cut; it is dialled anew, and the worker goes on where it was.
  way.cut();
  await server.call("POST", `/sandboxes/${id}/messages`, { body: { content: "go on" } });
  await expect.poll(read).toContain("agent.completed");
  await server.call("DELETE", `/sandboxes/${id}`);
  const local = await host.deps.providers.open("local");
  await expect.poll(async () => (await local.list({}, signal)).length).toBe(0);
});
