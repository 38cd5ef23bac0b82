/** A session leaves one server as a file and is read in another; a file that is not as it was written goes nowhere. */
import { createHash } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { execFileSync } from "node:child_process";
import { createSecretMask } from "@drover/core";
import { API_BASE } from "@drover/contract";
import fc from "fast-check";
import { expect, test as base } from "vitest";
import { runBinary } from "../../../../testkit/src/drover-binary.ts";
import { ADMIN_TOKEN, startTestServer, type TestServer } from "../../../../testkit/src/server.ts";
import { takeSnapshot } from "../../../../testkit/src/snapshot.ts";
import { startWorker } from "../../../../testkit/src/worker-in-process.ts";
import { sql } from "../../store/sql.ts";
import { applyRetentionOnce } from "../apply-retention.ts";
import { chain, startChain, toLine, toManifest } from "./format.ts";
import { readArchive } from "./read-archive.ts";
import { END, writeEntry } from "./tar.ts";

const KEY = "the-key-of-the-vendor-0123456789";
const FACT = { timeout: 60_000, interval: 50 };

async function* inPieces(bytes: Uint8Array, size = 700) {
  for (let at = 0; at < bytes.byteLength; at += size) yield bytes.subarray(at, at + size);
}
const read = (bytes: Uint8Array) => readArchive(inPieces(bytes));

/** A run of a real worker: a file, a message with a secret, an artifact with one. */
async function makeRun(server: TestServer, content: string) {
  const script = { steps: [{ text: `I use ${KEY} now.` }, { edit: { path: "made.txt", content } }] };
  const sandbox = await server.createSandbox({ runtime: "scripted", prompt: `Use ${KEY}`, script } as never);
  {
    await using _worker = await startWorker(sandbox.created);
    const done = async () => (await server.call("GET", `/sandboxes/${sandbox.id}`)).body.state;
    await expect.poll(done, FACT).toBe("completed");
    const bytes = `{"said":"${KEY}"}\n`.repeat(2_000);
    const id = createHash("sha256").update(bytes).digest("hex");
    await server.call("PUT", `/sandboxes/${sandbox.id}/artifacts/${id}`, { token: sandbox.token, raw: bytes });
    await sandbox.post({
      event_type: "agent.noted",
      event_data: { artifact: id, token: "ghp_abcdefghijklmnopqrstuvwxyz0123456789" },
    });
  }
  await server.call("DELETE", `/sandboxes/${sandbox.id}`);
  return sandbox.id;
}

const fetchArchive = async (server: TestServer, id: string) => {
  const answer = await fetch(`${server.url}${API_BASE}/sandboxes/${id}/archive`, {
    headers: { authorization: `Bearer ${ADMIN_TOKEN}` },
  });
  expect(answer.status).toBe(200);
  return new Uint8Array(await answer.arrayBuffer());
};

const put = (server: TestServer, seal: string, bytes: Uint8Array, query = "") =>
  server.call("PUT", `/archives/${seal}${query}`, { raw: Buffer.from(bytes) as never });

const test = base.extend<{ $file: { server: TestServer; other: TestServer; run: string; bytes: Uint8Array } }>({
  server: [
    async ({}, use) => {
      await using server = await startTestServer({ config: { anthropicApiKey: KEY } });
      await use(server);
    },
    { scope: "file" },
  ],
  other: [
    async ({}, use) => {
      await using other = await startTestServer();
      await use(other);
    },
    { scope: "file" },
  ],
  run: [async ({ server }, use) => use(await makeRun(server, "one\n")), { scope: "file" }],
  bytes: [async ({ server, run }, use) => use(await fetchArchive(server, run)), { scope: "file" }],
});

test("a session is the same in another server: log, files and replay; its secrets stayed behind", async ({
  server,
  other,
  run,
  bytes,
}) => {
  const { session, events, seal, files } = await read(bytes);
  const here = (await server.call("GET", `/sandboxes/${run}/events?limit=500&order=asc`)).body;
  expect({ id: session.sandbox.id, events, withheld: session.workspace_withheld }).toEqual({
    id: run,
    events: here.events.length,
    withheld: null,
  });
  expect(Buffer.from(bytes).includes(KEY)).toBe(false);
  expect(Buffer.from(bytes).includes("ghp_")).toBe(false);
  expect(files.map(({ path }) => path.replace(/[0-9a-f]{64}/, "*"))).toEqual(
    expect.arrayContaining([
      "session.json",
      "artifacts/*",
      "workspace.bundle",
      "events/000001.jsonl",
      "transcript/000001.md",
      "diffs/000001.patch",
    ]),
  );

  const folder = await mkdtemp(join(tmpdir(), "drover-archive-test-"));
  try {
    // Any tar and any git read it.
    await writeFile(join(folder, "a.tar"), bytes);
    execFileSync("tar", ["-xf", "a.tar"], { cwd: folder });
    const heads = execFileSync("git", ["bundle", "list-heads", "workspace.bundle"], { cwd: folder }).toString();
    expect(heads).toContain("refs/heads/checkpoints/");
    expect(await readFile(join(folder, "diffs/000001.patch"), "utf8")).toContain("+one");

    const project = await other.createProject();
    const made = await put(other, seal, bytes, `?project_id=${project}`);
    expect(made).toMatchObject({
      status: 200,
      body: { project_id: project, state: "terminated", event_count: events },
    });
    const { id } = made.body;
    expect(id).not.toBe(run);
    expect((await put(other, seal, bytes, `?project_id=${project}`)).body.id).toBe(id);
    const there = (await other.call("GET", `/sandboxes/${id}/events?limit=500&order=asc`)).body;
    const toFact = ({ sandbox_seq, event_type, source, created_at, generation }: Record<string, unknown>) => ({
      sandbox_seq,
      event_type,
      source,
      created_at,
      generation,
    });
    expect(there.events.map(toFact)).toEqual(here.events.map(toFact));
    const causes = (list: { id: string; caused_by: string | null }[]) =>
      list.map(({ caused_by }) => list.findIndex((one) => one.id === caused_by));
    expect(causes(there.events)).toEqual(causes(here.events));
    const noted = there.events.find((event: { event_type: string }) => event.event_type === "agent.noted");
    const artifact = await other.call("GET", `/sandboxes/${id}/artifacts/${noted.event_data.artifact}`);
    expect(artifact.text.slice(0, 14)).toBe('{"said":"***"}');
    const file = await other.call("GET", `/sandboxes/${id}/files/content?path=made.txt&at_seq=${there.last_seq}`);
    expect(file.text).toBe("one\n");
    expect((await other.call("GET", `/sandboxes/${id}/spine`)).status).toBe(200);
    expect((await other.call("GET", `/sandboxes/${id}/moment?at_seq=${there.last_seq}`)).status).toBe(200);
    expect((await other.call("POST", `/sandboxes/${id}/messages`, { body: { content: "hello" } })).status).toBe(409);
    // Out of the second it is the same session once more, as another one.
    const again = await read(await fetchArchive(other, id));
    expect({ events: again.events, id: again.session.sandbox.id }).toEqual({ events, id });
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("what the project's Git host was given stays behind, in an archive and in a page", async ({ server }) => {
  const token = "a-token-of-no-known-form-4711";
  const project_id = await server.createProject();
  await server.call("PATCH", `/projects/${project_id}/git`, { body: { token } });
  const sandbox = await server.createSandbox({ project_id, prompt: `Push with ${token}` });
  await sandbox.post({ event_type: "agent.message", event_data: { content: `I push with ${token}`, [token]: 1 } });
  const page = await server.call("GET", `/sandboxes/${sandbox.id}/run-file`);
  expect(page.text).toContain("I push with ***");
  expect(page.text).not.toContain(token);
  expect(Buffer.from(await fetchArchive(server, sandbox.id)).includes(token)).toBe(false);
});

test("a workspace that holds a secret does not leave; the command exports, verifies and imports", async ({
  server,
  other,
}) => {
  const run = await makeRun(server, `key=${KEY}\n`);
  const folder = await mkdtemp(join(tmpdir(), "drover-archive-test-"));
  const file = join(folder, "a.tar");
  try {
    const made = await runBinary(server, "archive", "export", run, "--output", file, "--json");
    expect(made).toMatchObject({ code: 0 });
    const { head, events } = JSON.parse(made.out);
    const bytes = await readFile(file);
    const { session, files } = await read(bytes);
    expect(session.workspace_withheld).toBe("a file of the workspace holds a secret");
    expect(files.some(({ path }) => path === "workspace.bundle")).toBe(false);
    expect(bytes.includes(KEY)).toBe(false);
    const page = join(folder, "a.html");
    expect(await runBinary(server, "archive", "export", run, "--html", "-o", page)).toMatchObject({ code: 0 });
    const [, json = ""] =
      /<script type="application\/json" id="run">(.*?)<\/script>/s.exec(await readFile(page, "utf8")) ?? [];
    const shown = JSON.parse(json);
    expect(shown.sandbox.id).toBe(run);
    expect(shown.events).toHaveLength(events);
    expect(json).not.toContain(KEY);
    const checked = await runBinary({ url: "http://127.0.0.1:1" }, "archive", "verify", file, "--head", head);
    expect(checked).toMatchObject({ code: 0 });
    expect(checked.out).toContain(`${events} events`);
    const { code, out } = await runBinary(other, "archive", "import", file);
    expect(code).toBe(0);
    expect((await other.call("GET", `/sandboxes/${out.trim()}`)).body).toMatchObject({
      state: "terminated",
      event_count: events,
    });
    bytes[bytes.length - 5_000] = (bytes[bytes.length - 5_000] ?? 0) ^ 1;
    await writeFile(file, bytes);
    expect((await runBinary(other, "archive", "import", file)).code).toBe(1);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("any byte that is changed, left out, added or moved is noticed", { timeout: 120_000 }, async ({ bytes }) => {
  await read(bytes);
  const at = fc.nat(bytes.byteLength - 1);
  const splice = (from: number, count: number, ...put: readonly number[]) =>
    Buffer.concat([bytes.subarray(0, from), Buffer.from(put), bytes.subarray(from + count)]);
  const damage = fc.oneof(
    fc.tuple(at, fc.integer({ min: 1, max: 255 })).map(([from, bits]) => splice(from, 1, (bytes[from] ?? 0) ^ bits)),
    fc.tuple(at, fc.integer({ min: 1, max: 2_048 })).map(([from, count]) => splice(from, count)),
    fc.tuple(at, fc.uint8Array({ minLength: 1, maxLength: 600 })).map(([from, more]) => splice(from, 0, ...more)),
    fc.tuple(fc.nat(Math.floor(bytes.byteLength / 512) - 2), fc.integer({ min: 1, max: 30 })).map(([block, by]) => {
      const [a, b] = [block * 512, Math.min((block + by) * 512, bytes.byteLength - 512)];
      const moved = Buffer.from(bytes);
      moved.set(bytes.subarray(b, b + 512), a);
      moved.set(bytes.subarray(a, a + 512), b);
      return moved;
    }),
    fc.uint8Array({ minLength: 1, maxLength: 1_024 }).map((more) => Buffer.concat([bytes, more])),
  );
  await fc.assert(
    fc.asyncProperty(damage, async (damaged) => {
      fc.pre(!Buffer.from(bytes).equals(damaged));
      await expect(read(damaged)).rejects.toMatchObject({ code: "archive.invalid" });
    }),
    { numRuns: 400 },
  );
});

type File = readonly [name: string, content: string | Buffer];

/** With a manifest and a seal that fit, as somebody who knows the format would make them. */
async function forge(
  files: readonly File[],
  sandboxId: string,
  events: { count: number; head: string },
  spoil: (bytes: Buffer) => void = () => undefined,
) {
  const listed = files.map(([path, content]) => ({
    path,
    size: Buffer.byteLength(content),
    sha256: createHash("sha256").update(content).digest("hex"),
  }));
  const all: Uint8Array[] = [];
  const add = async (name: string, content: string | Buffer) => {
    const bytes = Buffer.from(content);
    for await (const chunk of writeEntry(name, bytes.byteLength, [bytes])) all.push(chunk);
  };
  for (const [name, content] of files) await add(name, content);
  await add("manifest.json", toManifest(sandboxId, events, listed));
  const sealed = Buffer.concat(all.splice(0));
  spoil(sealed);
  const seal = createHash("sha256").update(sealed).digest("hex");
  await add("seal.sha256", `${seal}\n`);
  return { seal, bytes: Buffer.concat([sealed, ...all, END]) };
}

const ID = "drover-0badc0de-0badc0";
const SESSION = `${JSON.stringify({
  format: "drover-archive",
  version: 1,
  exported_at: "2026-01-01T00:00:00Z",
  workspace_withheld: null,
  missing_artifacts: 0,
  sandbox: {
    id: ID,
    state: "completed",
    state_cause: null,
    generation: 1,
    provider: "local",
    runtime: null,
    model: null,
    prompt: null,
    base_branch: null,
    branch: null,
    labels: {},
    created_at: "2026-01-01T00:00:00Z",
    started_at: null,
    ended_at: null,
    turn: 0,
    cost_usd: 0,
    input_tokens: 0,
    output_tokens: 0,
    cache_read_tokens: 0,
    cache_write_tokens: 0,
  },
})}\n`;
const say = (sandbox_seq: number, more: object = {}) =>
  JSON.stringify({
    sandbox_id: ID,
    sandbox_seq,
    event_type: "agent.message",
    event_data: { content: `said ${sandbox_seq}` },
    source: "agent",
    created_at: "2026-01-01T00:00:00Z",
    generation: 1,
    caused_by_seq: null,
    ...more,
  });
function link(session: string, events: readonly string[]) {
  let head = startChain(Buffer.from(session));
  const lines = events.map((event) => toLine((head = chain(head, event)), event));
  return { text: lines.join(""), head, count: events.length };
}
const forgeEvents = (
  events: readonly string[],
  before: readonly File[] = [],
  session = SESSION,
  spoil?: (bytes: Buffer) => void,
) => {
  const { text, head, count } = link(session, events);
  return forge([["session.json", session], ...before, ["events/000001.jsonl", text]], ID, { count, head }, spoil);
};

test("hostile archives are refused without a trace, those of the same form are taken", async ({ other }) => {
  const good = await forgeEvents([say(1), say(2)]);
  expect((await put(other, good.seal, good.bytes)).body).toMatchObject({ state: "terminated", event_count: 2 });
  const viewer = await other.createToken("viewer");
  const before = await takeSnapshot(other);
  const lines = link(SESSION, [say(1), say(2)]);
  const [one = "", two = ""] = lines.text.split(/(?<=\n)/);
  const parts = (text: string, count = 2): Promise<{ seal: string; bytes: Buffer }> =>
    forge(
      [
        ["session.json", SESSION],
        ["events/000001.jsonl", text],
      ],
      ID,
      { count, head: lines.head },
    );
  const hash = createHash("sha256").update("kept").digest("hex");
  const link512 = Buffer.from(good.bytes);
  link512.write("2", 156);
  const dated = Buffer.from(good.bytes);
  dated.write("1", dated.length - END.length - 1_024 + 136);
  const resealed = Buffer.from(good.bytes);
  resealed.write("0".repeat(64), resealed.length - END.length - 512);
  const bomb = Buffer.from(good.bytes);
  bomb.write("77777777777", 124);
  const cases: Readonly<Record<string, Promise<{ seal: string; bytes: Buffer }> | { seal: string; bytes: Buffer }>> = {
    "events in another order": parts(two + one),
    "an event left out": parts(two, 1),
    "an event changed under its hash": parts(one.replace("said 1", "said 9") + two),
    "a manifest of something else": forgeEvents([say(1)], [], SESSION, (bytes) =>
      bytes.write("7", bytes.indexOf('"count": 1') + '"count": '.length),
    ),
    "an event twice": parts(one + one + two, 3),
    "an event of another sandbox": forgeEvents([say(1, { sandbox_id: "drover-00000000-000000" })]),
    "a number twice": forgeEvents([say(1), say(1)]),
    "a cause in the future": forgeEvents([say(1, { caused_by_seq: 2 }), say(2)]),
    "a key that nobody knows": forgeEvents([say(1, { seq: 1 })]),
    "a NUL character": forgeEvents([say(1, { event_data: { content: "\u0000" } })]),
    "an event that is too large": forgeEvents([say(1, { event_data: { content: "x".repeat(300_000) } })]),
    "a path that leads elsewhere": forgeEvents([say(1)], [["../../etc/passwd", "root"]]),
    "an absolute path": forgeEvents([say(1)], [["/etc/passwd", "root"]]),
    "a file that has no business there": forgeEvents([say(1)], [["run.sh", "rm"]]),
    "an artifact under another name": forgeEvents([say(1)], [[`artifacts/${"0".repeat(64)}`, "kept"]]),
    "artifacts out of order": forgeEvents(
      [say(1)],
      [
        [`artifacts/${hash}`, "kept"],
        [`artifacts/${hash}`, "kept"],
      ],
    ),
    "a project of somebody": forgeEvents([say(1)], [], SESSION.replace('"labels":{}', '"labels":{},"project_id":"x"')),
    "a link that is sealed": forgeEvents([say(1)], [], SESSION, (bytes) => bytes.write("2", 156)),
    "a program that is sealed": forgeEvents([say(1)], [], SESSION, (bytes) => bytes.write("0000755", 100)),
    "a seal of something else": { seal: good.seal, bytes: resealed },
    "a time behind the seal": { seal: good.seal, bytes: dated },
    "a link": { seal: good.seal, bytes: link512 },
    "a size that nothing has": { seal: good.seal, bytes: bomb },
    "another seal": { seal: "0".repeat(64), bytes: good.bytes },
    nothing: { seal: good.seal.replace(/./, "f"), bytes: Buffer.alloc(0) },
    zeros: { seal: good.seal, bytes: Buffer.alloc(10_240) },
  };
  for (const [what, made] of Object.entries(cases)) {
    const { seal, bytes } = await made;
    const answer = await put(other, seal, bytes);
    expect({ what, status: answer.status }).toEqual({ what, status: 422 });
    // Without a server, too, where the archive itself is wrong.
    if (what !== "another seal") await expect(read(bytes), what).rejects.toMatchObject({ code: "archive.invalid" });
  }
  const refused = await other.call("PUT", `/archives/${good.seal}`, { token: viewer.token, raw: good.bytes as never });
  expect(refused.status).toBe(403);
  expect(await takeSnapshot(other)).toEqual(before);
});

test("what was imported is kept as long as other sessions from then on, and may be imported again after it was removed", async ({
  other,
}) => {
  const project = await other.createProject();
  await other.call("PATCH", `/projects/${project}`, { body: { settings: { retention_days: 7 } } });
  const { seal, bytes } = await forgeEvents([say(1), say(2)]);
  const take = async () => (await put(other, seal, bytes, `?project_id=${project}`)).body.id as string;
  const count = async (id: string) => (await other.call("GET", `/sandboxes/${id}/events`)).body.events.length as number;
  const pass = () => applyRetentionOnce(other.deps, new AbortController().signal);
  const first = await take();
  await pass();
  expect(await count(first)).toBe(2);
  await other.db.query(sql`update sandboxes set closed_at = now() - interval '8 days' where id = ${first}`);
  await pass();
  expect(await count(first)).toBe(0);
  const second = await take();
  expect([second === first, await count(second), await take()]).toEqual([false, 2, second]);
});

test("a secret is found wherever a piece of text ends", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 9_000 }), { maxLength: 6 }), fc.nat(20_000), (cuts, place) => {
      const text = `${"a".repeat(place)}${KEY}${"b".repeat(9_000)} sk-abcdefghijklmnopqrst ${JSON.stringify({ KEY })}`;
      const { mask, openPieces } = createSecretMask([KEY]);
      const look = openPieces();
      let rest = text;
      let out = "";
      for (const cut of cuts) {
        out += look(rest.slice(0, cut), false).text;
        rest = rest.slice(cut);
      }
      out += look(rest, true).text;
      expect(out).toBe(mask(text));
      expect(out).not.toContain(KEY);
    }),
    { numRuns: 50 },
  );
});
