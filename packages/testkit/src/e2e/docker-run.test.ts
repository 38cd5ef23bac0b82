/** The same run in a container: created over HTTP, worked on by the worker inside, ended and gone. */
import { randomBytes } from "node:crypto";
import type { Sandbox, StoredEvent } from "@drover/contract";
import { expect, test } from "vitest";
import { startDocker } from "../docker.ts";
import { startTestServer } from "../server.ts";

const FACT_MS = 60_000;

/** Says what the proxy answers to a host that is on no list. */
const ASK_PROXY = `const { hostname, port } = new URL(process.env.HTTPS_PROXY);
const socket = require("node:net").connect(port, hostname, () => socket.write("CONNECT nobody.invalid:443 HTTP/1.1\\r\\nhost: nobody.invalid:443\\r\\n\\r\\n"));
socket.on("error", (error) => console.log(error.message)).pipe(process.stdout);`;

const toText = (value: unknown): string => (typeof value === "string" ? value : "");

test("a sandbox of provider docker plays its script, without a network and without a token inside", async () => {
  await using engine = await startDocker();
  await using server = await startTestServer({ config: { dockerHost: engine.host, sandboxImage: engine.image } });
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
