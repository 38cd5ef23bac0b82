/** Pruning removes what nobody needs, says it before in a dry run, and leaves the rest alone. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { startLocal, test, untilSandbox } from "../../../testkit/src/local-sandbox.ts";
import type { TestServer } from "../../../testkit/src/server.ts";
import { toSpec } from "./sandbox-key.ts";
import { loadSandbox } from "../store/sandboxes.ts";
import type { SandboxId } from "@drover/contract";

const prune = async (server: TestServer, body: object, token?: string) =>
  server.call("POST", "/sandboxes/prune", { body, ...(token === undefined ? {} : { token }) });

const startDone = async (server: TestServer, project_id?: string): Promise<SandboxId> => {
  const { body } = await server.call("POST", "/sandboxes", {
    body: { provider: "local", runtime: "scripted", script: { steps: [{ text: "done" }] }, project_id },
  });
  await untilSandbox(server, body.id, { state: "completed", provider_id: expect.any(String) });
  return body.id;
};

const stands = (server: TestServer, key: string) => existsSync(join(server.dataDir, "sandboxes", key));

describe("prune", { timeout: 120_000 }, () => {
  test("removes completed sandboxes and strays, and nothing that works", async ({ server, local }) => {
    const done = await startDone(server);
    const row = await loadSandbox.one(server.db, local);
    const provider = await server.deps.providers.open("local");
    // As a server leaves it behind that dies between making one and noting it.
    const stray = toSpec(server.deps.installation, { ...row, id: "drover-0badcafe-000000" as SandboxId });
    await provider.ensure(stray, new AbortController().signal);
    const expected = [
      { provider: "local", key: `${done}-g1`, sandbox_id: done, state: "completed", reason: "completed", error: null },
      { provider: "local", key: stray.key, sandbox_id: null, state: null, reason: "stray", error: null },
    ];

    expect((await prune(server, { dry_run: true })).body).toEqual({ dry_run: true, items: expected });
    expect([stands(server, `${done}-g1`), stands(server, stray.key)]).toEqual([true, true]);

    expect((await prune(server, {})).body).toEqual({ dry_run: false, items: expected });
    expect([stands(server, `${done}-g1`), stands(server, stray.key)]).toEqual([false, false]);
    await untilSandbox(server, done, { state: "terminated" });
    await untilSandbox(server, local, { state: "running" });
    expect((await prune(server, {})).body.items).toEqual([]);
  });

  test("an admin of one project removes nothing of another", async ({ server }) => {
    const mine = await server.createProject();
    const { token } = await server.createToken("admin", mine);
    const [own, other] = [await startDone(server, mine), await startDone(server)];
    const { body } = await prune(server, { all: true }, token);
    expect(body.items.map((item: { sandbox_id: string }) => item.sandbox_id)).toEqual([own]);
    await untilSandbox(server, other, { state: "completed" });
  });

  test("all means those at work too, and no external one", async ({ server, sandbox }) => {
    const id = await startLocal(server);
    const { body } = await prune(server, { all: true });
    expect(body.items).toContainEqual({
      provider: "local",
      key: `${id}-g1`,
      sandbox_id: id,
      state: "running",
      reason: "at_work",
      error: null,
    });
    expect(stands(server, `${id}-g1`)).toBe(false);
    await untilSandbox(server, sandbox.id, { state: "creating" });
  });
});
