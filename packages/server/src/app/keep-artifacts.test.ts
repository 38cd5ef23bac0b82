import { createHash } from "node:crypto";
import { readdir } from "node:fs/promises";
import { request } from "node:http";
import { join } from "node:path";
import { expect, vi } from "vitest";
import { requireRoomForEvents } from "./require-room.ts";
import { startTestServer, test as base, type TestSandbox, type TestServer } from "../../../testkit/src/server.ts";

const test = base.extend<{ $file: { server: TestServer } }>({
  server: [
    async ({}, use) => {
      await using server = await startTestServer({ config: { artifactLimitMb: 1, sandboxArtifactsMb: 2 } });
      await use(server);
    },
    { scope: "file" },
  ],
});

const addressOf = (bytes: string | Uint8Array) => createHash("sha256").update(bytes).digest("hex");
const put = (server: TestServer, sandbox: TestSandbox, address: string, raw: string | Uint8Array) =>
  server.call("PUT", `/sandboxes/${sandbox.id}/artifacts/${address}`, { token: sandbox.token, raw });
const get = (server: TestServer, sandbox: TestSandbox, address: string) =>
  server.call("GET", `/sandboxes/${sandbox.id}/artifacts/${address}`);
const listFiles = async (server: TestServer) =>
  (await readdir(join(server.dataDir, "blobs"), { recursive: true, withFileTypes: true }).catch(() => []))
    .filter((entry) => entry.isFile())
    .map((entry) => entry.name);

test("bytes come back as they were put, as an attachment that no browser runs", async ({ server, sandbox }) => {
  const bytes = Buffer.concat([Buffer.from("<script>alert(1)</script>"), Buffer.from([0, 255, 254])]);
  const address = addressOf(bytes);
  expect((await put(server, sandbox, address, bytes)).body).toEqual({ artifact_id: address, size: bytes.length });
  const answer = await get(server, sandbox, address);
  expect(answer.bytes.equals(bytes)).toBe(true);
  expect(answer.headers).toMatchObject({
    "content-type": "application/octet-stream",
    "content-length": String(bytes.length),
    "content-disposition": `attachment; filename="${address}"`,
    "x-content-type-options": "nosniff",
    "content-security-policy": expect.stringContaining("default-src 'none'"),
  });
});

test("putting twice equals putting once, and nothing at all can be put", async ({ server, sandbox }) => {
  const before = (await listFiles(server)).length;
  for (const bytes of ["once", "once", ""])
    expect((await put(server, sandbox, addressOf(bytes), bytes)).status).toBe(200);
  expect((await listFiles(server)).length - before).toBe(2);
  expect((await get(server, sandbox, addressOf(""))).bytes).toHaveLength(0);
});

test("bytes that do not match their address are refused and kept nowhere", async ({ server, sandbox }) => {
  const before = await listFiles(server);
  const answer = await put(server, sandbox, addressOf("one thing"), "another");
  expect([answer.status, answer.body.type]).toEqual([422, "urn:drover:error:artifact.mismatch"]);
  expect((await get(server, sandbox, addressOf("one thing"))).status).toBe(404);
  expect(await listFiles(server)).toEqual(before);
});

test("too many bytes are 413, with and without a length that says so, and kept nowhere", async ({
  server,
  sandbox,
}) => {
  const before = await listFiles(server);
  const bytes = Buffer.alloc(3 * 1024 * 1024, "x");
  const address = addressOf(bytes);
  expect((await put(server, sandbox, address, bytes)).status).toBe(413);
  const chunked = await server.call("PUT", `/sandboxes/${sandbox.id}/artifacts/${address}`, {
    token: sandbox.token,
    raw: bytes,
    headers: { "transfer-encoding": "chunked", "content-length": undefined },
  });
  expect(chunked.status).toBe(413);
  expect(await listFiles(server)).toEqual(before);
  const most = Buffer.alloc(1024 * 1024, "y");
  expect((await put(server, sandbox, addressOf(most), most)).status).toBe(200);
});

test("all that a sandbox puts is bounded, one after the other and at once, and what it has it may put again", async ({
  server,
  sandbox,
}) => {
  const [first, ...others] = Array.from("abcdef", (letter) => Buffer.alloc(700_000, letter));
  if (first === undefined) throw new Error("there are six");
  expect((await put(server, sandbox, addressOf(first), first)).status).toBe(200);
  const answers = await Promise.all(others.map((bytes) => put(server, sandbox, addressOf(bytes), bytes)));
  const refused = answers.filter(({ status }) => status !== 200);
  expect(refused.length).toBeGreaterThan(0);
  for (const { status, body } of refused)
    expect(`${status} ${body.detail}`).toBe("413 a sandbox has at most 2 MiB of artifacts");
  const [{ bytes = 0 } = {}] = await server.db.query({
    text: "select sum(size)::int as bytes from artifacts where sandbox_id = $1",
    values: [sandbox.id],
  });
  expect(bytes).toBeLessThanOrEqual(2 * 1024 * 1024);
  expect((await put(server, sandbox, addressOf(first), first)).status).toBe(200);
  expect((await put(server, await server.createSandbox(), addressOf("its own"), "its own")).status).toBe(200);
});

test("nothing is taken that the disk has no room for, and the caller may come again", async () => {
  await using full = await startTestServer({ config: { keepFreeMb: 1_000_000_000 } });
  const sender = await full.createSandbox();
  const answer = await put(full, sender, addressOf("kept"), "kept");
  expect([answer.status, answer.body.type]).toEqual([503, "urn:drover:error:data_dir.full"]);
  expect(await listFiles(full)).toEqual([]);
  const event = { event_type: "agent.message", event_data: {} };
  // The database of these tests lies elsewhere.
  expect((await sender.post(event)).status).toBe(200);
  expect(() => requireRoomForEvents({ ...full.deps, config: { ...full.deps.config, databaseUrl: undefined } })).toThrow(
    "MiB are free",
  );
});

test("another sandbox does not get at it, though it knows the address", async ({ server, sandbox }) => {
  const other = await server.createSandbox();
  await put(server, sandbox, addressOf("mine"), "mine");
  expect((await get(server, other, addressOf("mine"))).status).toBe(404);
  const { body } = await other.post({
    event_type: "agent.file_edited",
    event_data: { full_diff_artifact: addressOf("mine") },
  });
  expect((await server.call("GET", `/sandboxes/${other.id}/file-diffs/${body.event_id}`)).status).toBe(404);
  expect((await put(server, other, addressOf("mine"), "mine")).status).toBe(200);
  expect((await get(server, other, addressOf("mine"))).text).toBe("mine");
});

test("an upload that breaks off leaves nothing", async ({ server, sandbox }) => {
  const before = await listFiles(server);
  const upload = request(`${server.url}/api/v1/sandboxes/${sandbox.id}/artifacts/${addressOf("whole")}`, {
    method: "PUT",
    headers: { authorization: `Bearer ${sandbox.token}`, "content-length": "500000" },
  });
  upload.on("error", () => undefined);
  upload.write(Buffer.alloc(100_000));
  await vi.waitFor(async () => expect((await listFiles(server)).length).toBe(before.length + 1), { timeout: 20_000 });
  upload.destroy();
  await vi.waitFor(async () => expect(await listFiles(server)).toEqual(before), { timeout: 20_000 });
  expect((await get(server, sandbox, addressOf("whole"))).status).toBe(404);
});

test("a file's diff is whole, inline or from its artifact", async ({ server, sandbox }) => {
  const long = "+line\n".repeat(20_000);
  await put(server, sandbox, addressOf(long), long);
  const post = async (event_type: string, event_data: object) =>
    (await sandbox.post({ event_type, event_data })).body.event_id as string;
  const read = (id: string) => server.call("GET", `/sandboxes/${sandbox.id}/file-diffs/${id}`);
  const inline = await post("agent.file_edited", { file_path: "a.ts", change_type: "created", full_diff: "+a" });
  expect((await read(inline)).body).toEqual({ file_path: "a.ts", change_type: "created", diff: "+a" });
  const kept = await post("agent.file_edited", {
    file_path: "b.ts",
    change_type: "renamed",
    full_diff: null,
    full_diff_artifact: addressOf(long),
  });
  expect((await read(kept)).body).toEqual({ file_path: "b.ts", change_type: "renamed", diff: long });
  const cut = await post("agent.file_edited", {
    file_path: "c.ts",
    change_type: "modified",
    full_diff: "+li",
    full_diff_artifact: addressOf(long),
  });
  expect((await read(cut)).body.diff).toBe(long);
  const missing = await post("agent.file_edited", { file_path: "d.ts", full_diff_artifact: addressOf("never put") });
  expect((await read(missing)).status).toBe(404);
  expect((await read(await post("agent.file_edited", {}))).status).toBe(404);
  expect((await read(await post("agent.message", { full_diff: "+a" }))).status).toBe(404);
});
