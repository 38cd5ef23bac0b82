/** Webhooks are signed as others check it, and reach nothing that an outsider could not reach himself. */
import { Webhook } from "standardwebhooks";
import { expect, test } from "vitest";
import { startReceiver } from "../../../testkit/src/webhook-receiver.ts";
import { openWebhookJudge } from "../app/judge-webhook.ts";
import { openWebhookPost } from "./webhook-post.ts";

const SECRET = `whsec_${Buffer.from("a secret of exactly thirty-two b").toString("base64")}`;
const { signal } = new AbortController();
const OWN = { addresses: ["10.1.2.3"], port: 18_000 };
const order = (url: string) => ({
  url,
  id: "msg-1",
  body: '{"id":"1","data":{}}',
  contentType: "application/json",
  secret: SECRET,
});

const open = (webhookAllow: string | undefined, names: Readonly<Record<string, readonly string[]>> = {}) =>
  openWebhookPost({
    resolver: { resolve: async (host) => names[host] ?? [host] },
    judge: openWebhookJudge({ webhookAllow }, () => OWN),
    now: () => new Date(),
  });

test("a receiver verifies the signature with the published library", async () => {
  await using receiver = await startReceiver(() => 204);
  const posts = open(`127.0.0.1:${receiver.port}`);
  expect(await posts.post(order(receiver.url), signal)).toEqual({ status: 204 });
  const [got] = receiver.received;
  expect(new Webhook(SECRET).verify(got?.text ?? "", { ...got?.headers })).toEqual({ id: "1", data: {} });
  expect(() => new Webhook(SECRET).verify(`${got?.text} `, { ...got?.headers })).toThrow();
});

test("a name is dialled at the address that was judged, and a redirect is not followed", async () => {
  await using inner = await startReceiver(() => 200);
  await using receiver = await startReceiver(() => [302, { location: inner.url, "retry-after": "7" }]);
  const posts = open(`receiver.example:${receiver.port}, 127.0.0.1:${inner.port}`, {
    "receiver.example": ["127.0.0.1"],
  });
  const answer = await posts.post(order(`http://receiver.example:${receiver.port}/hook`), signal);
  expect(answer).toEqual({ status: 302, retryAfterSeconds: 7 });
  expect(receiver.received).toHaveLength(1);
  expect(inner.received).toHaveLength(0);
});

test.for([
  ["http://receiver.example/", "not https"],
  ["https://receiver.example:22/", "port not allowed"],
  ["https://user:password@receiver.example/", "a name or a password"],
  ["ftp://receiver.example/", "not an http address"],
  ["https://127.0.0.1/", "loopback address"],
  ["https://2130706433/", "loopback address"],
  ["https://0x7f.1/", "loopback address"],
  ["https://[::1]/", "loopback address"],
  ["https://[::ffff:127.0.0.1]/", "embedded address"],
  ["https://10.0.0.7/", "private address"],
  ["https://10.1.2.3/", "own address"],
  ["https://169.254.169.254/latest/meta-data", "metadata address"],
  ["https://0.0.0.0/", "unspecified address"],
] as const)("%s is refused before anything is sent", async ([url, why]) => {
  const posts = open(undefined);
  expect(posts.findComplaint(url)).toContain(why);
  expect(await posts.post(order(url), signal)).toMatchObject({ error: expect.stringContaining(why) });
});

test("a name that leads inside, or also inside, is refused when it is looked up", async () => {
  await using receiver = await startReceiver(() => 200);
  const posts = open(undefined, { "inside.example": ["127.0.0.1"], "mixed.example": ["93.184.216.34", "10.0.0.7"] });
  expect(posts.findComplaint("https://inside.example/")).toBeUndefined();
  expect(await posts.post(order("https://inside.example/"), signal)).toMatchObject({
    error: expect.stringContaining("loopback"),
  });
  expect(await posts.post(order("https://mixed.example/"), signal)).toMatchObject({
    error: expect.stringContaining("private"),
  });
  expect(await posts.post(order("https://nobody.example/"), signal)).toMatchObject({ error: expect.any(String) });
  expect(receiver.received).toHaveLength(0);
});

/** Broken once each, and noticed: `toLookup` asks the resolver again; `lookup` left out, so that the system's resolver is asked; a name sent
 *  to whatever it leads to, judged or not. */
test("a name that is bound anew between look and dial is dialled where it was judged, and judged anew for the next", async () => {
  await using receiver = await startReceiver(() => 204);
  await using inside = await startReceiver(() => 200, { host: "127.0.0.2", port: receiver.port });
  const answers = [["127.0.0.1"], ["127.0.0.2"], ["169.254.169.254"], ["127.0.0.1", "169.254.169.254"]];
  let asked = 0;
  const posts = openWebhookPost({
    resolver: { resolve: async () => answers[asked++] ?? ["127.0.0.2"] },
    judge: openWebhookJudge({ webhookAllow: `rebound.example:${receiver.port}` }, () => OWN),
    now: () => new Date(),
  });
  const url = `http://rebound.example:${receiver.port}/hook`;
  expect(await posts.post(order(url), signal)).toEqual({ status: 204 });
  expect([asked, receiver.received.length, inside.received.length]).toEqual([1, 1, 0]);
  // Another delivery goes where the name leads then, if it may.
  expect(await posts.post(order(url), signal)).toEqual({ status: 200 });
  for (const _ of ["alone", "among others"])
    expect(await posts.post(order(url), signal)).toMatchObject({ error: expect.stringContaining("metadata address") });
  expect([asked, receiver.received.length, inside.received.length]).toEqual([4, 1, 1]);
});
