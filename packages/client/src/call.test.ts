import { api } from "@drover/contract";
import { describe, expect, test } from "vitest";
import { fastTimers } from "../test/facts.ts";
import { toAddress } from "./call.ts";
import { ClientError } from "./client-error.ts";
import { createClient } from "./create-client.ts";

const sandbox_id = "drover-00000001-00000a";
const QUEUED = { status: "queued", message_id: "msg-000000000001", sandbox_id, queue_size: 1 };

type Step = Response | Error;

/** Answers one step after the other and remembers what was asked. */
function play(...steps: Step[]) {
  const requests: { url: string; init: RequestInit; headers: Headers }[] = [];
  const fetch: typeof globalThis.fetch = async (url, init = {}) => {
    requests.push({ url: url instanceof Request ? url.url : url.toString(), init, headers: new Headers(init.headers) });
    const step = steps.shift();
    if (step === undefined || step instanceof Error) throw step ?? new Error("no step left");
    return step;
  };
  return { requests, fetch };
}

const problem = (status: number, code: string, headers = {}) =>
  Response.json(
    { type: `https://drover.example/errors/${code}`, title: "t", status, detail: "d", request_id: "r" },
    { status, headers: { "content-type": "application/problem+json", ...headers } },
  );

const send = { params: { sandbox_id }, body: { content: "hello" } };

describe("an address", () => {
  test("escapes its parameters, repeats lists and leaves out what is not given", () => {
    const query = { event_type: ["a", "b"], limit: 5, after_seq: undefined };
    expect(toAddress("http://h", api.listSandboxEvents, { params: { sandbox_id: "a/b" }, query })).toBe(
      "http://h/api/v1/sandboxes/a%2Fb/events?event_type=a&event_type=b&limit=5",
    );
  });
});

describe("a call", () => {
  test("carries the token, and no cookie beside it", async () => {
    const { fetch, requests } = play(Response.json(QUEUED));
    await createClient({ baseUrl: "http://h/", token: "drv_u_x", fetch }).sendMessage(send);
    expect(requests[0]?.url).toBe(`http://h/api/v1/sandboxes/${sandbox_id}/messages`);
    expect(requests[0]?.headers.get("authorization")).toBe("Bearer drv_u_x");
    expect(requests[0]?.init).toMatchObject({ credentials: "omit", body: '{"content":"hello"}' });
  });

  test("uses the cookie when there is no token", async () => {
    const { fetch, requests } = play(Response.json(QUEUED));
    await createClient({ fetch }).sendMessage(send);
    expect(requests[0]?.init.credentials).toBe("same-origin");
    expect(requests[0]?.headers.has("authorization")).toBe(false);
  });

  test("reads a reply with fields it does not know", async () => {
    const { fetch } = play(Response.json({ ...QUEUED, later: true }));
    await expect(createClient({ fetch }).sendMessage(send)).resolves.toMatchObject(QUEUED);
  });

  test("refuses a reply that is not in the contract", async () => {
    const { fetch } = play(Response.json({ status: "queued" }));
    await expect(createClient({ fetch }).sendMessage(send)).rejects.toMatchObject({ code: "client.bad_reply" });
  });
});

describe("a call that creates", () => {
  test("is tried again under one key until it is answered", async () => {
    const { fetch, requests } = play(
      new TypeError("fetch failed"),
      problem(503, "database.unavailable"),
      Response.json(QUEUED),
    );
    await createClient({ fetch, timers: fastTimers }).sendMessage(send);
    const keys = requests.map((request) => request.headers.get("idempotency-key"));
    expect(keys).toHaveLength(3);
    expect(new Set(keys).size).toBe(1);
    expect(keys[0]).toMatch(/^[0-9a-f]{32}$/);
  });

  test("uses the caller's key", async () => {
    const { fetch, requests } = play(Response.json(QUEUED));
    await createClient({ fetch }).sendMessage(send, { idempotencyKey: "mine" });
    expect(requests[0]?.headers.get("idempotency-key")).toBe("mine");
  });

  test("is not tried again after a refusal", async () => {
    const { fetch, requests } = play(problem(409, "sandbox.terminal"));
    const refused = createClient({ fetch }).sendMessage(send);
    await expect(refused).rejects.toMatchObject({ code: "sandbox.terminal", status: 409, message: "d" });
    expect(requests).toHaveLength(1);
  });

  test("gives up after its retries", async () => {
    const { fetch, requests } = play(new TypeError("a"), new TypeError("b"), new TypeError("c"));
    const lost = createClient({ fetch, timers: fastTimers }).sendMessage(send, { retries: 2 });
    await expect(lost).rejects.toMatchObject({ code: "client.unreachable", status: 0 });
    expect(requests).toHaveLength(3);
  });
});

test("a POST that creates nothing is tried again under the caller's key", async () => {
  const { fetch, requests } = play(new TypeError("fetch failed"), Response.json({ status: "ok" }));
  await createClient({ fetch, timers: fastTimers }).logout({}, { idempotencyKey: "mine" });
  expect(requests.map((request) => request.headers.get("idempotency-key"))).toEqual(["mine", "mine"]);
});

test("a call that changes without a key is sent once", async () => {
  const { fetch, requests } = play(new TypeError("fetch failed"));
  const lost = createClient({ fetch, timers: fastTimers }).terminateSandbox({ params: { sandbox_id } });
  await expect(lost).rejects.toBeInstanceOf(ClientError);
  expect(requests).toHaveLength(1);
});

test("an aborted call rejects with the abort, and is not tried again", async () => {
  const stop = new AbortController();
  const fetch: typeof globalThis.fetch = async () => {
    stop.abort(new Error("left"));
    throw stop.signal.reason;
  };
  const gone = createClient({ fetch }).whoami({}, { signal: stop.signal });
  await expect(gone).rejects.toThrow("left");
});

test("a proxy's error page becomes an error that may pass", async () => {
  const { fetch } = play(new Response("<html>", { status: 502, statusText: "Bad Gateway" }));
  const failed = createClient({ fetch }).whoami({}, { retries: 0 });
  await expect(failed).rejects.toMatchObject({ code: "client.unreachable", status: 502, isRetryable: true });
});
