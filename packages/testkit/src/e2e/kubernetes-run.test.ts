/** The same run in a cluster: the official client against an API server on this machine, the worker as a process of a pod. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Sandbox, StoredEvent } from "@drover/contract";
import { expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { startKubernetes } from "../kubernetes/api-server.ts";
import type { Rule } from "../kubernetes/resources.ts";
import { startTestServer } from "../server.ts";

/** The right that ships, and no other. */
function readRules(): readonly Rule[] {
  const path = join(import.meta.dirname, "../../../../deploy/kubernetes/sandboxes.yaml");
  const objects = parseAllDocuments(readFileSync(path, "utf8")).map((document) => document.toJS());
  return objects.find(({ kind }) => kind === "Role").rules;
}

const FACT_MS = 90_000;

test("a sandbox of provider kubernetes plays its script to completed, and pod and policy are gone when it ends", async () => {
  await using emulator = await startKubernetes({ rules: readRules() });
  await using server = await startTestServer({ config: { kubernetesConfig: emulator.configFile } });
  const script = { steps: [{ edit: { path: "made.txt", content: "made\n" } }] };
  const body = { provider: "kubernetes", runtime: "scripted", network: "allowlist", script };
  const created = await server.call("POST", "/sandboxes", { body });
  expect([created.status, created.text]).toEqual([201, expect.any(String)]);
  const { id } = created.body as Sandbox;

  const read = async () => (await server.call("GET", `/sandboxes/${id}`)).body as Sandbox;
  const readEvents = async () =>
    (await server.call("GET", `/sandboxes/${id}/events?limit=500`)).body.events as StoredEvent[];
  const isSettled = async () => ["completed", "failed"].includes((await read()).state);
  await expect.poll(isSettled, { timeout: FACT_MS }).toBe(true);
  const events = await readEvents();
  expect((await read()).state, JSON.stringify(events.slice(-5))).toBe("completed");
  expect(await read()).toMatchObject({
    provider: "kubernetes",
    enforced_by: { memory: "provider", network: "provider" },
  });
  const types = new Set(events.map(({ event_type }) => event_type));
  for (const type of ["agent.completed", "agent.file_edited", "workspace.checkpoint"])
    expect([...types]).toContain(type);

  await server.call("DELETE", `/sandboxes/${id}`);
  const kubernetes = await server.deps.providers.open("kubernetes");
  const left = async () => (await kubernetes.list({ "drover.sandbox": id }, new AbortController().signal)).length;
  await expect.poll(left, { timeout: FACT_MS }).toBe(0);
  const deleted = () =>
    emulator.requests.filter(({ method }) => method === "DELETE").map(({ path }) => path.split("/").at(-2));
  await expect.poll(deleted, { timeout: FACT_MS }).toEqual(["pods", "networkpolicies"]);
  expect(emulator.complaints).toEqual([]);
}, 240_000);
