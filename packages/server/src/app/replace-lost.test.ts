/** Real local sandboxes are lost while they work, and are made again. */
import type { StoredEvent } from "@drover/contract";
import { expect, test } from "vitest";
import { startLocal } from "../../../testkit/src/local-sandbox.ts";
import { startTestServer, type TestServer } from "../../../testkit/src/server.ts";
import { watchSandboxesOnce } from "./watch-sandboxes.ts";

const FACT_MS = 90_000;
const { signal } = new AbortController();

const readEvents = async (server: TestServer, id: string) =>
  (await server.call("GET", `/sandboxes/${id}/events?limit=500&order=asc`)).body.events as StoredEvent[];
const dataOf = async (server: TestServer, id: string, type: string) =>
  (await readEvents(server, id)).filter((event) => event.event_type === type).map((event) => event.event_data);

/** The pattern does not match the words that look for it. */
const KILL = `for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline | grep -q 'node .*worker[.]mjs' && kill -9 \${p#/proc/}; done; true`;

test(
  "a sandbox whose worker is killed is made again, with its files and its place, as often as is allowed",
  { timeout: 240_000 },
  async () => {
    await using server = await startTestServer({ config: { sandboxReplacements: 1 } });
    const script = {
      steps: [
        { edit: { path: "a.txt", content: "one\n" } },
        { wait_for_message: { seconds: 600 } },
        { edit: { path: "b.txt", content: "two\n" } },
      ],
    };
    const id = await startLocal(server, { script });
    const isWaiting = async (times: number) => (await dataOf(server, id, "agent.waiting")).length >= times;
    await expect.poll(() => isWaiting(1), { timeout: FACT_MS }).toBe(true);
    const kill = () => server.call("POST", `/sandboxes/${id}/exec`, { body: { argv: ["sh", "-c", KILL] } });
    const isSeen = async () => {
      await watchSandboxesOnce(server.deps, signal);
      return (await dataOf(server, id, "WORKER_REPLACED")).length;
    };
    await kill();
    await expect.poll(isSeen, { timeout: FACT_MS }).toBe(1);
    expect(await dataOf(server, id, "WORKER_REPLACED")).toMatchObject([
      { generation: 2, cause: "worker killed by SIGKILL" },
    ]);
    await expect.poll(() => isWaiting(2), { timeout: FACT_MS }).toBe(true);
    expect(await dataOf(server, id, "agent.resumed")).toMatchObject([{ how: "native", files: "restored", from: id }]);
    const { body } = await server.call("POST", `/sandboxes/${id}/exec`, { body: { argv: ["cat", "a.txt"] } });
    expect(body).toMatchObject({ stdout: "one\n" });

    await kill();
    const isFailed = async () => {
      await watchSandboxesOnce(server.deps, signal);
      return (await server.call("GET", `/sandboxes/${id}`)).body.state as string;
    };
    await expect.poll(isFailed, { timeout: FACT_MS }).toBe("failed");
    const listTold = async (type: string) =>
      (await server.call("GET", `/events?event_type=${type}`)).body.events.map((one: StoredEvent) => one.event_data);
    expect(await listTold("AGENT_RESTARTED")).toMatchObject([
      { agent_id: id, replacement_agent_id: id, generation: 2, reason: "worker killed by SIGKILL" },
    ]);
    expect(await listTold("RESTART_ESCALATION")).toMatchObject([{ agent_id: id, restarts: 1, max_restarts: 1 }]);
  },
);
