import { getEventListeners, once } from "node:events";
import { request } from "node:http";
import { PassThrough } from "node:stream";
import { API_BASE } from "@drover/contract";
import { expect } from "vitest";
import { test } from "../../../testkit/src/server.ts";
import { sql } from "../store/sql.ts";
import { onClosed, signalOf } from "./hang-up.ts";

test("a signal aborts when the caller hangs up or another one does, also where that was before", async () => {
  const [stopping, stopped] = [new AbortController(), AbortSignal.abort("stopped")];
  const out = new PassThrough();
  const signal = signalOf(out, [stopping.signal]);
  expect(signal.aborted).toBe(false);
  expect(signalOf(out, [stopping.signal, stopped]).reason).toBe("stopped");
  out.destroy();
  await once(out, "close");
  expect(signal.reason).toMatchObject({ name: "AbortError" });
  expect(signalOf(out, [stopping.signal]).aborted).toBe(true);
  expect(getEventListeners(stopping.signal, "abort")).toEqual([]);
  const closed = Promise.withResolvers<void>();
  onClosed(out, closed.resolve);
  await closed.promise;
});

test("a poll whose caller hung up while its token was looked up takes no message", async ({ server, sandbox }) => {
  const [locked, unlock] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const locking = server.db.tx(async (tx) => {
    await tx.query(sql`lock table sandbox_tokens in access exclusive mode`);
    locked.resolve();
    await unlock.promise;
  });
  await locked.promise;
  const asking = request(`${server.url}${API_BASE}/sandboxes/${sandbox.id}/messages?lease=60&wait=30`, {
    headers: { authorization: `Bearer ${sandbox.token}` },
    agent: false,
  });
  asking.on("error", () => undefined).end();
  const waiting = () =>
    server.db.query(sql`select 1 from pg_locks where not granted and relation = 'sandbox_tokens'::regclass`);
  await expect.poll(waiting, { timeout: 20_000 }).toHaveLength(1);
  await new Promise((closed) => asking.once("close", closed).destroy());
  // Who asks after it is answered after the server has seen the end.
  for (let n = 0; n < 3; n += 1) expect((await server.request("GET", "/healthz")).status).toBe(200);
  unlock.resolve();
  await locking;
  const { token } = sandbox;
  expect((await server.call("GET", `/sandboxes/${sandbox.id}/assignment`, { token })).status).toBe(200);
  await server.call("POST", `/sandboxes/${sandbox.id}/messages`, { body: { content: "for who still listens" } });
  const { body } = await server.call("GET", `/sandboxes/${sandbox.id}/messages?lease=60&wait=5`, { token });
  expect(body).toMatchObject([{ content: "for who still listens" }]);
});
