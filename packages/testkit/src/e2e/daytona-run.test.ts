/** The same run at Daytona: the real SDK against the emulator, created over HTTP, worked on by the worker inside. */
import type { Sandbox, StoredEvent } from "@drover/contract";
import { expect, test } from "vitest";
import { startDaytona } from "../daytona/emulator.ts";
import { startTestServer } from "../server.ts";

const FACT_MS = 90_000;
const SNAPSHOT = "ai-agent-dev-light";

test("a sandbox of provider daytona plays its script and is gone when it ends", async () => {
  await using emulator = await startDaytona({ snapshots: [SNAPSHOT] });
  const config = { daytonaApiKey: emulator.apiKey, daytonaApiUrl: emulator.apiUrl, daytonaExecution: true };
  await using server = await startTestServer({ config });
  const body = { runtime: "scripted", script: { steps: [{ edit: { path: "made.txt", content: "made\n" } }] } };
  const created = await server.call("POST", "/sandboxes", { body });
  expect(created.status).toBe(201);
  const { id, provider } = created.body as Sandbox;
  expect(provider).toBe("daytona");

  const read = async () => (await server.call("GET", `/sandboxes/${id}/events?limit=500`)).body.events as StoredEvent[];
  const hasCompleted = async () => (await read()).some(({ event_type }) => event_type === "agent.completed");
  await expect.poll(hasCompleted, { timeout: FACT_MS }).toBe(true);

  await server.call("DELETE", `/sandboxes/${id}`);
  const daytona = await server.deps.providers.open("daytona");
  const left = async () => (await daytona.list({ "drover.sandbox": id }, new AbortController().signal)).length;
  await expect.poll(left, { timeout: FACT_MS }).toBe(0);
  expect(emulator.complaints).toEqual([]);
}, 240_000);
