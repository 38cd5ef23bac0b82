/** Every POST that comes again under its Idempotency-Key gets its first reply, and nothing is done for it. What creates something is held to
 *  more in `create-once.test.ts`. */
import { API_BASE, type EndpointName } from "@drover/contract";
import { describe, expect } from "vitest";
import { BODIES } from "../../../testkit/src/refusal/bodies.ts";
import { test } from "../../../testkit/src/refusal/refusal.ts";
import { ALL, ask, toPath, type Case } from "../../../testkit/src/refusal/requests.ts";
import type { World } from "../../../testkit/src/refusal/world.ts";
import type { TestServer } from "../../../testkit/src/server.ts";
import { createOnceDone } from "../app/create-once.ts";

/** They end what others need. */
const LAST: ReadonlySet<EndpointName> = new Set(["cancelTask", "cancelSandbox", "pruneSandboxes"]);
const isLast = ({ name }: Case) => Number(LAST.has(name));
const HELD = ALL.filter(({ endpoint }) => endpoint.method === "POST" && endpoint.creates !== true)
  // Before one is logged in there is nobody whose key it could be.
  .filter(({ endpoint }) => endpoint.access !== "open")
  .toSorted((one, other) => isLast(one) - isLast(other));

const toOwnPath = (one: Case, world: World) => toPath(one.endpoint, world, world.mine).replace(":name", "claude");

/** As if this reply had been given before, under this key, to a request with this body. */
async function keepReply(server: TestServer, world: World, one: Case, key: string, body: unknown): Promise<unknown> {
  const who =
    one.endpoint.access === "worker" ? world.mine.id : (await server.call("GET", "/auth/whoami")).body.token_id;
  const scope = `${who} POST ${API_BASE}${toOwnPath(one, world)}`;
  const request = JSON.stringify(body ?? null);
  return createOnceDone(server.deps, { key, scope, request }, async () => ({ kept: one.name }));
}

describe.for(HELD.map((one) => [one.name, one] as const))("%s", ([name, one]) => {
  test("repeated with its key it is answered the same", async ({ server, world }) => {
    const headers = { "idempotency-key": `the first of ${name}` };
    const first = await ask(server, world, one, { headers });
    const again = await ask(server, world, one, { headers });
    expect(first.status).not.toBe(500);
    // What is refused is looked at afresh: it may be possible by now.
    if (first.status < 300) expect([again.status, again.text]).toEqual([first.status, first.text]);
  });

  test("a reply that is known is given without doing anything", async ({ server, world }) => {
    const kept = await keepReply(server, world, one, "known", BODIES[name]);
    const path = toOwnPath(one, world);
    const answer = await ask(server, world, one, { path, headers: { "idempotency-key": "known" } });
    expect([answer.status, answer.body]).toEqual([one.endpoint.status ?? 200, kept]);
  });

  test("another body with the same key is refused", async ({ server, world }) => {
    await keepReply(server, world, one, "reused", { another: "body" });
    const path = toOwnPath(one, world);
    const answer = await ask(server, world, one, { path, headers: { "idempotency-key": "reused" } });
    expect([answer.status, answer.body.type]).toEqual([422, "urn:drover:error:request.key_reused"]);
  });
});

describe("a batch of events", () => {
  const headers = { "idempotency-key": "a batch" };
  const batch = { events: [{ event_type: "a.b" }, { event_type: "a.c", client_event_id: "mine" }] };

  test("is answered as it was first, and not as duplicates", async ({ server }) => {
    const sandbox = await server.createSandbox();
    const first = await sandbox.post(batch, headers);
    expect(first.body).toMatchObject({ accepted: 2, duplicates: 0 });
    await sandbox.post({ event_type: "a.d" });
    expect((await sandbox.post(batch, headers)).text).toBe(first.text);
    const reused = await sandbox.post({ events: [{ event_type: "a.e" }] }, headers);
    expect([reused.status, reused.body.type]).toEqual([422, "urn:drover:error:request.key_reused"]);
    expect(
      (await server.call("GET", `/sandboxes/${sandbox.id}/events?event_type=a.b&event_type=a.c`)).body.total_count,
    ).toBe(2);
  });

  test("ten at once are one", async ({ server }) => {
    const sandbox = await server.createSandbox();
    const answers = await Promise.all(Array.from({ length: 10 }, () => sandbox.post(batch, headers)));
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(answers[0]?.body).toMatchObject({ accepted: 2, duplicates: 0 });
  });

  test("that is refused leaves its key unused", async ({ server }) => {
    const sandbox = await server.createSandbox();
    expect((await sandbox.post({ events: [{ event_type: "MESSAGE_QUEUED" }] }, headers)).status).toBe(422);
    expect((await sandbox.post(batch, headers)).body).toMatchObject({ accepted: 2 });
  });
});
