/** Files as they were: told by a real worker, kept by the server, read at any place of the log. */
import { createHash, randomBytes } from "node:crypto";
import type { Sandbox, StoredEvent } from "@drover/contract";
import { expect } from "vitest";
import { findCheckpoint } from "../../../server/src/app/read-checkpoint.ts";
import { test } from "../server.ts";
import { startWorker } from "../worker-in-process.ts";

const FACT = { timeout: 30_000, interval: 50 };

test("every file can be read as it was at any place of the log, also when the sandbox is gone", async ({ server }) => {
  const noise = randomBytes(1_500_000).toString("base64");
  const steps = [
    { edit: { path: "notes/a b.txt", content: "one\n" } },
    { edit: { path: "notes/a b.txt", content: "two\n" } },
    {
      command: {
        argv: [
          "node",
          "-e",
          `require("fs").writeFileSync("big.txt", process.argv[1].repeat(20))`,
          noise.slice(0, 100_000),
        ],
      },
    },
    { command: { argv: ["sh", "-c", "mv 'notes/a b.txt' moved.txt && ln -s moved.txt link"] } },
    { edit: { path: "moved.txt", delete: true } },
  ];
  const { id, created } = await server.createSandbox({ runtime: "scripted", script: { steps } });
  await using worker = await startWorker(created, { env: { POST_COMPLETION_SECONDS: "0.05" } });
  expect(await worker.exit).toMatchObject({ code: 0 });
  const { body } = await server.call("GET", `/sandboxes/${id}/events?limit=500&order=asc`);
  const events = body.events as StoredEvent[];
  const seqs = events.filter((event) => event.event_type === "workspace.checkpoint").map(({ seq }) => seq);
  expect(seqs).toHaveLength(5);
  await server.call("DELETE", `/sandboxes/${id}`);

  const read = (path: string, seq: number) =>
    server.call("GET", `/sandboxes/${id}/files/content?path=${encodeURIComponent(path)}&at_seq=${seq}`);
  const list = async (seq: number, path = "/workspace") => {
    const answer = await server.call("GET", `/sandboxes/${id}/files?path=${path}&at_seq=${seq}`);
    return answer.status === 200
      ? (answer.body.entries as { name: string; kind: string }[]).map(({ name, kind }) => `${kind} ${name}`)
      : answer.status;
  };
  const [first = 0, second = 0, third = 0, fourth = 0, fifth = 0] = seqs;
  expect((await read("notes/a b.txt", fourth - 1)).text).toBe("two\n");
  expect((await read("/workspace/notes/a b.txt", first)).text).toBe("one\n");
  expect((await read("notes/a b.txt", second)).text).toBe("two\n");
  expect((await read("big.txt", third)).text).toHaveLength(2_000_000);
  expect((await read("notes/a b.txt", fourth)).status).toBe(404);
  expect((await read("moved.txt", fourth)).text).toBe("two\n");
  expect((await read("link", fifth)).text).toBe("moved.txt");
  expect((await read("moved.txt", fifth)).status).toBe(404);
  expect((await read("../etc/passwd", fifth)).status).toBe(404);
  expect(await read("notes/a b.txt", first - 1)).toMatchObject({
    status: 404,
    body: { type: expect.stringContaining("checkpoint.not_found") },
  });
  expect(await list(fourth)).toEqual(["file big.txt", "symlink link", "file moved.txt"]);
  expect(await list(first)).toEqual(["directory notes"]);
  expect(await list(first, "notes")).toEqual(["file a b.txt"]);
  expect(await list(fourth, "notes")).toBe(404);
  expect((await server.call("GET", `/sandboxes/${id}`)).body).toMatchObject({ id } satisfies Partial<Sandbox>);
});

test("a moment of a run is one answer: files against its beginning, messages, events, what a fork would know", async ({
  server,
}) => {
  const steps = [
    { text: "I begin." },
    { edit: { path: "a.txt", content: "one\n" } },
    { edit: { path: "deep/b.txt", content: "two\n" } },
    { edit: { path: "a.txt", content: "one\nmore\n" } },
    { edit: { path: "deep/b.txt", delete: true } },
  ];
  const { id, created } = await server.createSandbox({ runtime: "scripted", script: { steps } });
  await server.call("POST", `/sandboxes/${id}/messages`, { body: { content: "hello" } });
  await using worker = await startWorker(created, { env: { POST_COMPLETION_SECONDS: "0.05" } });
  expect(await worker.exit).toMatchObject({ code: 0 });
  const { body } = await server.call("GET", `/sandboxes/${id}/events?limit=500&order=asc`);
  const events = body.events as StoredEvent[];
  const at = async (seq: number) => (await server.call("GET", `/sandboxes/${id}/moment?at_seq=${seq}&events=5`)).body;
  const seqs = events.filter((event) => event.event_type === "workspace.checkpoint").map(({ seq }) => seq);
  const [first = 0, second = 0, third = 0, fourth = 0] = seqs;
  // Opened as they came: whoever looks first needs no pack any more.
  await expect.poll(() => server.deps.unopened.has(id), FACT).toBe(false);
  const withoutPacks = { ...server.deps, blobs: { ...server.deps.blobs, open: async () => undefined } };
  const found = await findCheckpoint(withoutPacks, id, undefined, AbortSignal.timeout(30_000));
  expect(found).toMatchObject({ seq: fourth });
  const read = (moment: { files: { path: string; size: number; change: string }[] }) =>
    moment.files.map(({ path, size, change }) => `${change} ${path} ${size}`);
  expect(await at(first - 1)).toMatchObject({ files: null, files_cut: false });
  expect(read(await at(second))).toEqual(["created a.txt 4", "created deep/b.txt 4"]);
  expect(read(await at(third))).toEqual(["created a.txt 9", "created deep/b.txt 4"]);
  const last = await at(fourth);
  expect(read(last)).toEqual(["created a.txt 9"]);
  expect(last).toMatchObject({
    state: { at_seq: fourth, edits: 4, messages: 1 },
    memory: "native",
    messages: [{ content: "hello" }],
    verdict: null,
  });
  expect(last.events.map(({ seq }: StoredEvent) => seq)).toEqual(
    events
      .filter(({ seq }) => seq <= fourth)
      .slice(-5)
      .map(({ seq }) => seq),
  );
  // Before anybody queued or read it the message was not there, and then it waited.
  const queued = events.find((event) => event.event_type === "MESSAGE_QUEUED")?.seq ?? 0;
  expect(await at(queued - 1)).toMatchObject({ messages: [], memory: "fresh" });
  expect(await at(queued)).toMatchObject({ messages: [{ content: "hello", state: "queued" }] });
  const diff = async (query: string) => (await server.call("GET", `/sandboxes/${id}/diff?${query}`)).body.patch;
  expect(await diff(`at_seq=${third}&from_seq=${second}`)).toContain("@@ -1 +1,2 @@\n one\n+more\n");
  expect(await diff(`at_seq=${third}&path=deep/b.txt`)).toMatch(/new file mode[^]*\+two/);
  expect(await diff(`at_seq=${third}&path=deep/b.txt`)).not.toContain("a.txt");
});

test("a pack that is broken, or claims what it is not, is refused and harms nothing", async ({ server }) => {
  const { id, token, post } = await server.createSandbox({ runtime: "scripted" });
  const raw = "PACK\0\0\0\u0002\0\0\0\u0001 no object";
  const artifact = createHash("sha256").update(raw).digest("hex");
  await server.call("PUT", `/sandboxes/${id}/artifacts/${artifact}`, { token, raw });
  const checkpoint = { commit: "1".repeat(40), parent: null, files_changed: 1, pack_artifact: artifact, turn: 1 };
  const { body } = await post({ event_type: "workspace.checkpoint", event_data: checkpoint });
  const answer = await server.call("GET", `/sandboxes/${id}/files?at_seq=${body.seq}`);
  expect(answer).toMatchObject({ status: 422, body: { type: expect.stringContaining("checkpoint.unreadable") } });
  // And nobody tries it again in the background, whatever else it sends.
  await expect.poll(() => server.deps.unopened.get(id), FACT).toBe("refused");
  const lying = { ...checkpoint, commit: "--output=/tmp/x", pack_artifact: null };
  const { body: second } = await post({ event_type: "workspace.checkpoint", event_data: lying });
  expect((await server.call("GET", `/sandboxes/${id}/files?at_seq=${second.seq}`)).status).toBe(422);
});
