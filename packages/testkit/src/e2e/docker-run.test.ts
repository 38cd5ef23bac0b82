/** The same run in a container: created over HTTP, worked on by the worker inside and by people, ended and gone. */
import { randomBytes } from "node:crypto";
import { TerminalServerFrame, type Sandbox, type StoredEvent } from "@drover/contract";
import { afterAll, beforeAll, expect, test } from "vitest";
import WebSocket from "ws";
import { startDocker, type TestEngine } from "../docker.ts";
import { ADMIN_TOKEN, startTestServer, type TestServer } from "../server.ts";

const FACT_MS = 60_000;

/** Says what the proxy answers to a host that is on no list. */
const ASK_PROXY = `const { hostname, port } = new URL(process.env.HTTPS_PROXY);
const socket = require("node:net").connect(port, hostname, () => socket.write("CONNECT nobody.invalid:443 HTTP/1.1\\r\\nhost: nobody.invalid:443\\r\\n\\r\\n"));
socket.on("error", (error) => console.log(error.message)).pipe(process.stdout);`;

let engine: TestEngine;
beforeAll(async () => {
  engine = await startDocker();
});
afterAll(() => engine?.[Symbol.asyncDispose]());

const startServer = (more: object = {}) =>
  startTestServer({ config: { dockerHost: engine.host, sandboxImage: engine.image, ...more } });

/** Types one line into a terminal; what it showed, and how it ended. */
async function useTerminal(server: TestServer, id: string, line: string) {
  const address = `${server.url.replace("http", "ws")}/api/v1/sandboxes/${id}/pty?columns=91&rows=23`;
  const socket = new WebSocket(address, { headers: { authorization: `Bearer ${ADMIN_TOKEN}` } });
  const frames: TerminalServerFrame[] = [];
  let shown = "";
  const closed = Promise.withResolvers<number>();
  socket.on("close", (code) => closed.resolve(code)).on("error", closed.reject);
  socket.on("message", (data: Buffer, isBinary) => {
    if (isBinary) shown += data.toString();
    else frames.push(TerminalServerFrame.parse(JSON.parse(data.toString())));
  });
  await expect.poll(() => frames, { timeout: FACT_MS }).toContainEqual({ type: "ready" });
  socket.send(Buffer.from(`${line}\n`));
  return { code: await closed.promise, last: frames.at(-1), shown };
}

const toText = (value: unknown): string => (typeof value === "string" ? value : "");

test("a sandbox of provider docker plays its script, without a network and without a token inside", async () => {
  await using server = await startServer();
  const canary = randomBytes(8).toString("hex");
  const look = "env; ls /sys/class/net; tr '\\0' '\\n' < /proc/1/environ";
  const script = {
    steps: [
      { command: { argv: ["sh", "-c", look] } },
      { command: { argv: ["node", "-e", ASK_PROXY] } },
      { edit: { path: "made.txt", content: `${canary}\n` } },
    ],
  };
  const body = { provider: "docker", runtime: "scripted", script, resources: { memory_gb: 0.5 } };
  const created = await server.call("POST", "/sandboxes", { body });
  expect(created.status).toBe(201);
  const { id } = created.body as Sandbox;

  const read = async () => (await server.call("GET", `/sandboxes/${id}/events?limit=500`)).body.events as StoredEvent[];
  const hasCompleted = async () => (await read()).some(({ event_type }) => event_type === "agent.completed");
  await expect.poll(hasCompleted, { timeout: FACT_MS }).toBe(true);
  const events = await read();
  const said = events
    .filter(({ event_type }) => event_type === "command.output")
    .map(({ event_data }) => toText(event_data["chunk"]))
    .join("");
  expect(said).not.toContain("drv_");
  expect(said.split("\n")).toContain("lo");
  expect(said).not.toContain("eth0");
  // The way out leads to the proxy, which decides and tells.
  expect(said).toContain("HTTP/1.1 403");
  const hasTold = async () =>
    (await read()).some((one) => one.event_type === "sandbox.egress" && one.event_data["host"] === "nobody.invalid");
  await expect.poll(hasTold, { timeout: FACT_MS }).toBe(true);
  const edit = events.find(({ event_type }) => event_type === "agent.file_edited");
  expect(edit?.event_data["full_diff"]).toContain(canary);

  await server.call("DELETE", `/sandboxes/${id}`);
  const docker = await server.deps.providers.open("docker");
  const left = async () => (await docker.list({ "drover.sandbox": id }, new AbortController().signal)).length;
  await expect.poll(left, { timeout: FACT_MS }).toBe(0);
}, 180_000);

test("people work in a container over HTTP as in a local sandbox: commands, files, log, terminal, pause, resume", async () => {
  await using server = await startServer({ warmDocker: 1 });
  const script = { steps: [{ edit: { path: "made.txt", content: "made\n" } }, { wait_for_message: { seconds: 600 } }] };
  const body = {
    provider: "docker",
    runtime: "scripted",
    script,
    resources: { memory_gb: 0.5 },
    env: { GREETING: "hello" },
  };
  const { id } = (await server.call("POST", "/sandboxes", { body })).body as Sandbox;
  const read = async (path = "") => (await server.call("GET", `/sandboxes/${id}${path}`)).body;
  const hasEdited = async () => (await read("/events?event_type=agent.file_edited")).total_count;
  await expect.poll(hasEdited, { timeout: FACT_MS }).toBe(1);
  expect(await read()).toMatchObject({
    state: "running",
    provider: "docker",
    enforced_by: { memory: "engine", isolation: "engine", disk: "watchdog" },
  });

  const argv = ["sh", "-c", 'pwd; echo "$GREETING" >&2; exit 3'];
  const ran = await server.call("POST", `/sandboxes/${id}/exec`, { body: { argv } });
  expect(ran.body).toMatchObject({ exit_code: 3, stdout: "/workspace\n", stderr: "hello\n", timed_out: false });
  const bomb = ["node", "-e", "const a = []; for (;;) a.push(Buffer.alloc(16 << 20, 1))"];
  const killed = await server.call("POST", `/sandboxes/${id}/exec`, { body: { argv: bomb } });
  expect(killed.body).toMatchObject({ oom_killed: true });
  expect((await read("/files?path=.")).entries).toContainEqual(
    expect.objectContaining({ name: "made.txt", kind: "file" }),
  );
  expect((await server.call("GET", `/sandboxes/${id}/files/content?path=made.txt`)).text).toBe("made\n");
  expect((await server.call("GET", `/sandboxes/${id}/logs`)).status).toBe(200);

  const terminal = await useTerminal(server, id, "echo $GREETING, size: $(stty size); exit 5");
  expect(terminal).toMatchObject({ code: 1000, last: { type: "exit", code: 5 } });
  expect(terminal.shown).toContain("hello, size: 23 91");
  await expect.poll(async () => (await read("/terminal")).items, { timeout: FACT_MS }).toHaveLength(1);

  expect((await server.call("POST", `/sandboxes/${id}/pause`)).status).toBe(200);
  await expect.poll(async () => (await read()).state, { timeout: FACT_MS }).toBe("paused");
  expect((await server.call("POST", `/sandboxes/${id}/resume`)).status).toBe(200);
  await expect.poll(async () => (await read()).state, { timeout: FACT_MS }).toBe("running");

  await server.call("DELETE", `/sandboxes/${id}`);
  const docker = await server.deps.providers.open("docker");
  const left = async () => (await docker.list({ "drover.sandbox": id }, new AbortController().signal)).length;
  await expect.poll(left, { timeout: FACT_MS }).toBe(0);
}, 180_000);
