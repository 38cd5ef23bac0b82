/** Two servers on one database, each with a data directory of its own: what only one of them can do is reached through both.
 *
 *  Broken on purpose, each seen to fail here: requests not handed on, storage not shared, the turn given to everybody, a replica that
 *  adopts what another made, a request line that says where it is handed on to. */
import { createHash } from "node:crypto";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { API_BASE, CLOSE } from "@drover/contract";
import { expect } from "vitest";
import WebSocket from "ws";
import { startLocal } from "../../../testkit/src/local-sandbox.ts";
import { createDatabase } from "../../../testkit/src/postgres.ts";
import { startRedis } from "../../../testkit/src/redis.ts";
import { ADMIN_TOKEN, startTestServer, test as base, type TestServer } from "../../../testkit/src/server.ts";
import { reconcileSandboxesOnce } from "../app/reconcile-sandboxes.ts";
import { takeOverOnce } from "../app/tend-replicas.ts";
import { takeTurn } from "../store/replicas.ts";
import { sql } from "../store/sql.ts";

interface Pair {
  readonly database: { readonly url: string; readonly db: TestServer["db"] };
  readonly redisUrl: string;
  readonly servers: readonly [TestServer, TestServer];
}

const test = base.extend<{ $file: { pair: Pair } }>({
  pair: [
    async ({}, use) => {
      await using redis = await startRedis();
      await using database = await createDatabase();
      await using one = await startTestServer({ database, config: { redisUrl: redis.url } });
      await using two = await startTestServer({ database, config: { redisUrl: redis.url } });
      await use({ database, redisUrl: redis.url, servers: [one, two] });
    },
    { scope: "file" },
  ],
});

const signal = () => new AbortController().signal;

/** The one that made it, and the other one. */
async function findOwner(servers: Pair["servers"], id: string): Promise<readonly [TestServer, TestServer]> {
  const [row] = await servers[0].db.query(sql`select host from sandboxes where id = ${id}`);
  return row?.["host"] === servers[0].deps.host ? servers : [servers[1], servers[0]];
}

test("a sandbox on the machine of one is used through the other: commands, files, log, pause, terminal", async ({
  pair: { servers },
}) => {
  const id = await startLocal(servers[0]);
  const [owner, other] = await findOwner(servers, id);
  const told = await other.call("POST", `/sandboxes/${id}/exec`, {
    body: { argv: ["sh", "-c", "printf 'kept\\377' > note; pwd; exit 3"] },
  });
  expect(told).toMatchObject({ status: 200, body: { exit_code: 3, stdout: "/workspace\n" } });
  const file = await other.call("GET", `/sandboxes/${id}/files/content?path=note`);
  expect([file.status, [...file.bytes]]).toEqual([200, [...Buffer.from("kept"), 0xff]]);
  expect(file.headers["content-disposition"]).toContain("note");
  expect((await other.call("GET", `/sandboxes/${id}/files?path=nothing-here`)).status).toBe(404);
  expect((await other.call("GET", `/sandboxes/${id}/logs`)).body).toMatchObject({ source: "sandbox" });
  // A request line with an address of its own leads nowhere else.
  const elsewhere = `http://127.0.0.1:1${API_BASE}/sandboxes/${id}/files/content?path=note`;
  expect((await other.request("GET", elsewhere, { token: ADMIN_TOKEN })).status).toBe(200);
  const { token } = await other.createToken("viewer");
  expect((await other.call("POST", `/sandboxes/${id}/exec`, { token, body: { argv: ["true"] } })).status).toBe(403);

  const socket = new WebSocket(`${other.url.replace("http", "ws")}${API_BASE}/sandboxes/${id}/pty?columns=91&rows=23`, {
    headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
  });
  let shown = "";
  const closed = new Promise<number>((resolve) => socket.on("close", resolve));
  socket.on("message", (data: Buffer, isBinary) => {
    shown += data.toString("utf8");
    if (!isBinary && shown.includes('"ready"')) socket.send(Buffer.from("echo size: $(stty size); exit\n"));
  });
  expect(await closed).toBe(1_000);
  expect(shown).toContain("size: 23 91");
  await expect.poll(async () => (await other.call("GET", `/sandboxes/${id}/terminal`)).body.items).toHaveLength(1);

  expect((await other.call("POST", `/sandboxes/${id}/pause`)).body).toMatchObject({ state: "paused" });
  expect((await other.call("POST", `/sandboxes/${id}/resume`)).body).toMatchObject({ state: "running" });

  // Whoever sees the same engine leaves the gate to the one that made it.
  const seen = { ...other.deps, providers: owner.deps.providers, adopted: new Set<string>() };
  expect(await reconcileSandboxesOnce(seen, signal())).toMatchObject({ adopted: 0, destroyed: 0 });

  await owner.db.query(sql`update replicas set address = 'http://127.0.0.1:1' where host = ${owner.deps.host}`);
  const refused = await other.call("POST", `/sandboxes/${id}/exec`, { body: { argv: ["true"] } });
  await owner.db.query(sql`update replicas set address = ${owner.url} where host = ${owner.deps.host}`);
  expect(refused).toMatchObject({ status: 503, body: { type: expect.stringContaining("sandbox.elsewhere") } });
  expect(refused.body.detail).toContain("http://127.0.0.1:1");
});

test("artifacts and stored secrets of one are those of the other, and a message reaches the poll at the other", async ({
  pair: { servers },
}) => {
  const [one, two] = servers;
  const sandbox = await one.createSandbox();
  const bytes = Buffer.from("seen by both");
  const artifact = createHash("sha256").update(bytes).digest("hex");
  const path = `/sandboxes/${sandbox.id}/artifacts/${artifact}`;
  const put = await one.call("PUT", path, {
    token: sandbox.token,
    raw: bytes,
    headers: { "content-type": "text/plain" },
  });
  expect(put.status).toBeLessThan(300);
  expect((await two.call("GET", path)).bytes).toEqual(bytes);

  // The first reply is kept sealed: the other replica has the key.
  const body = { name: "once", role: "viewer" };
  const headers = { "idempotency-key": "the same at both" };
  const made = await one.call("POST", "/tokens", { body, headers });
  expect((await two.call("POST", "/tokens", { body, headers })).body).toEqual(made.body);

  const poll = two.call("GET", `/sandboxes/${sandbox.id}/messages?lease=30&wait=30`, { token: sandbox.token });
  await one.call("POST", `/sandboxes/${sandbox.id}/messages`, { body: { content: "across" } });
  expect((await poll).body).toMatchObject([{ content: "across" }]);
});

test("a replica that does not see the files of the others does not start beside them", async ({ pair }) => {
  const sharedDir = await mkdtemp(join(tmpdir(), "drover-other-"));
  try {
    await expect(startTestServer({ database: pair.database, config: { sharedDir } })).rejects.toMatchObject({
      code: "storage.not_shared",
      message: expect.stringContaining(pair.servers[0].dataDir),
    });
  } finally {
    await rm(sharedDir, { recursive: true });
  }
});

test("a turn is one replica's, until it misses the next", async ({ pair: { servers } }) => {
  const take = async (host: string, seconds: number) =>
    (await takeTurn.maybe(servers[0].db, "a pass of this test", host, seconds)) !== undefined;
  expect(await take("one", 60)).toBe(true);
  expect(await take("two", 60)).toBe(false);
  expect(await take("one", 60)).toBe(true);
  expect(await take("two", 0)).toBe(true);
  expect(await take("one", 60)).toBe(false);
});

test("what a lost replica left is taken over where any can reach it, and failed where none can", async ({
  pair: { servers },
}) => {
  const [one] = servers;
  const [lost, silent, remote] = [await one.createSandbox(), await one.createSandbox(), await one.createSandbox()];
  await one.db.query(sql`
    insert into replicas (host, address, instance, seen_at) values
    ('lost', 'http://127.0.0.1:1', 'lost:1', now() - interval '11 minutes'),
    ('silent', 'http://127.0.0.1:1', 'silent:1', now() - interval '1 minute')`);
  for (const [{ id }, provider, host] of [
    [lost, "local", "lost"],
    [silent, "local", "silent"],
    [remote, "daytona", "silent"],
  ] as const)
    await one.db.query(
      sql`update sandboxes set provider = ${provider}, host = ${host}, state = 'running' where id = ${id}`,
    );
  await takeOverOnce(one.deps);
  const stateOf = async (id: string) =>
    (await one.db.query(sql`select state, host from sandboxes where id = ${id}`))[0];
  expect(await stateOf(lost.id)).toMatchObject({ state: "failed", host: "lost" });
  expect(await stateOf(silent.id)).toMatchObject({ state: "running", host: "silent" });
  // Either of the two, whichever was faster.
  const hosts = servers.map(({ deps }) => deps.host);
  expect(hosts).toContain((await stateOf(remote.id))?.["host"]);
  expect((await one.call("POST", `/sandboxes/${lost.id}/messages`, { body: { content: "late" } })).status).toBe(409);
});

test("a server that leaves answers what is under way, sends streams and polls elsewhere, and takes nothing new", async ({
  pair: { database, redisUrl, servers },
}) => {
  await using leaving = await startTestServer({ database, config: { redisUrl, drainSeconds: 60 } });
  const sandbox = await leaving.createSandbox();
  const stream = await leaving.openStream();
  const poll = leaving.call("GET", `/sandboxes/${sandbox.id}/messages?lease=30&wait=30`, { token: sandbox.token });
  const bytes = Buffer.from("half now, half later");
  const artifact = createHash("sha256").update(bytes).digest("hex");
  const upload = request(`${leaving.url}${API_BASE}/sandboxes/${sandbox.id}/artifacts/${artifact}`, {
    method: "PUT",
    headers: { authorization: `Bearer ${sandbox.token}`, "content-type": "text/plain", "content-length": bytes.length },
  });
  const uploaded = new Promise<number | undefined>((resolve, reject) => {
    upload.on("response", (answer) => resolve(answer.resume().statusCode));
    upload.on("error", reject);
  });
  upload.write(bytes.subarray(0, 4));
  // It is being read: its part stands beside the artifacts.
  const blobs = join(servers[0].dataDir, "blobs");
  await expect.poll(async () => (await readdir(blobs)).filter((name) => name.startsWith(artifact))).toHaveLength(1);
  const stopped = leaving.running.stop();
  expect(await stream.closed).toMatchObject({ code: CLOSE.restarting });
  // With nothing, or to be asked again at once: either way the worker asks another replica.
  expect([200, 503]).toContain((await poll).status);
  await expect(fetch(`${leaving.url}/healthz`)).rejects.toThrow();
  upload.end(bytes.subarray(4));
  expect(await uploaded).toBe(200);
  await stopped;
});

test("what a sandbox may send and an address may try holds for both together; with Redis killed for each alone, and together again after", async () => {
  await using redis = await startRedis();
  await using database = await createDatabase();
  // So little an hour that nothing refills while the test runs.
  const config = { redisUrl: redis.url, eventsPerSecond: 0.001, eventBurst: 20, loginAttemptsPerMinute: 6 };
  await using one = await startTestServer({ database, config });
  await using two = await startTestServer({ database, config });
  await Promise.all([one.running.ready, two.running.ready]);
  let sent = 0;
  /** How many events of a new sandbox are taken when both are asked in turn, twice the limit of one. */
  const countTaken = async () => {
    const { id, token } = await one.createSandbox();
    const post = (server: TestServer) => {
      const body = { event_type: "agent.message", client_event_id: `limit-${(sent += 1)}` };
      return server.call("POST", `/sandboxes/${id}/events`, { token, body });
    };
    const answers = await Promise.all(Array.from({ length: 50 }, (_, n) => post(n % 2 === 0 ? one : two)));
    for (const refused of answers.filter(({ status }) => status !== 200)) {
      expect([refused.status, refused.body.type]).toEqual([429, "urn:drover:error:request.rate_limited"]);
      expect(Number(refused.headers["retry-after"])).toBeGreaterThan(0);
    }
    return answers.filter(({ status }) => status === 200).length;
  };
  await expect.poll(countTaken, { timeout: 30_000 }).toBe(20);
  const login = (server: TestServer) =>
    server.request("POST", `${API_BASE}/auth/login`, { body: { token: "drv_u_no" } });
  const tries = await Promise.all(Array.from({ length: 16 }, (_, n) => login(n % 2 === 0 ? one : two)));
  expect(tries.filter(({ status }) => status === 401)).toHaveLength(6);
  await redis.kill();
  await expect.poll(countTaken, { timeout: 30_000 }).toBe(40);
  await redis.start();
  await expect.poll(countTaken, { timeout: 30_000 }).toBe(20);
});
