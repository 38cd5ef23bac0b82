/** Sandboxes on this machine, made by the server under test, in which a scripted agent waits. */
import type { JsonObject, NewSandbox, SandboxId } from "@drover/contract";
import { expect } from "vitest";
import { test as base, type TestServer } from "./server.ts";

const FACT_LIMIT_MS = 30_000;

const WAITING: JsonObject = { steps: [{ wait_for_message: { seconds: 600 } }] };

/** Resolves when people can work in it. */
export async function startLocal(server: TestServer, input: NewSandbox = {}): Promise<SandboxId> {
  const { status, body, text } = await server.call("POST", "/sandboxes", {
    body: { provider: "local", runtime: "scripted", script: WAITING, ...input },
  });
  if (status !== 201) throw new Error(`create a sandbox: ${status} ${text}`);
  await untilSandbox(server, body.id, {
    state: "running",
    state_cause: expect.any(String),
    provider_id: expect.any(String),
  });
  return body.id as SandboxId;
}

/** Waits until the sandbox is as said. */
export async function untilSandbox(server: TestServer, id: SandboxId, facts: object): Promise<void> {
  await expect
    .poll(async () => (await server.call("GET", `/sandboxes/${id}`)).body, { timeout: FACT_LIMIT_MS, interval: 50 })
    .toMatchObject(facts);
}

/** `local` is made once per file. Whatever the file made is gone when its server stops. */
export const test = base.extend<{ $file: { server: TestServer; local: SandboxId } }>({
  server: [
    async ({ server }, use) => {
      await use(server);
      await server.call("POST", "/sandboxes/prune", { body: { all: true } });
    },
    { scope: "file" },
  ],
  local: [async ({ server }, use) => use(await startLocal(server)), { scope: "file" }],
});
