import { Redis } from "ioredis";
import { afterAll, beforeAll, expect, test } from "vitest";
import { describeBuckets, slowKind, takeUntilRefused } from "../../../testkit/src/conformance/buckets.ts";
import { startRedis, type TestRedis } from "../../../testkit/src/redis.ts";
import { silentLog } from "../../../testkit/src/silent-log.ts";
import { openOwnBuckets } from "../app/own-buckets.ts";
import { openRedisBuckets } from "./buckets-redis.ts";
import { systemClock } from "./clock-system.ts";

let redis: TestRedis;
let installations = 0;

beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis[Symbol.asyncDispose]());

const open = (installation: string, url = redis.url) =>
  openRedisBuckets({ url, installation, own: openOwnBuckets(systemClock), clock: systemClock, log: silentLog });
const nextInstallation = () => `i${(installations += 1)}`;

/** Two ends of one count. They are together when what one end took is missing at the other. */
async function openTwo(installation = nextInstallation()) {
  const two = [open(installation), open(installation)] as const;
  await untilTogether(...two);
  return two;
}

let probes = 0;
async function untilTogether(near: ReturnType<typeof open>, far: ReturnType<typeof open>): Promise<void> {
  const isTogether = async () => {
    const key = `probe ${(probes += 1)}`;
    await near.take(slowKind("probe", 1), key, 1);
    return !(await far.take(slowKind("probe", 1), key, 1)).ok;
  };
  await expect.poll(isTogether, { timeout: 20_000, interval: 20 }).toBe(true);
}

describeBuckets("of one process", async () => openOwnBuckets(systemClock));
describeBuckets("redis", async () => (await openTwo())[0]);
describeBuckets("redis that is away", async () => open("away", "redis://127.0.0.1:1"));

test("two processes take from one bucket, however they take turns or race", async () => {
  const [near, far] = await openTwo();
  const kind = slowKind("shared", 40);
  const taken = await Promise.all(Array.from({ length: 100 }, (_, n) => (n % 2 === 0 ? near : far).take(kind, "a", 1)));
  expect(taken.filter(({ ok }) => ok)).toHaveLength(40);
  for (const end of [near, far]) expect(await end.take(kind, "a", 1)).toMatchObject({ ok: false });
  // What another process was refused is not missing here: the count is one.
  await far.take(kind, "a", -3);
  expect(await takeUntilRefused(near, kind, "a")).toBe(3);
  for (const end of [near, far]) await end.close();
});

test("Redis holds no key as it is, forgets what is full again, and never holds more than it may", async () => {
  const installation = nextInstallation();
  const [near, far] = await openTwo(installation);
  const client = new Redis(redis.url);
  const name = `drover:{${installation}:crowd}`;
  const secret = "drv_w_a-token-that-nobody-may-see";
  const crowd = Array.from({ length: 21_000 }, (_, n) => near.take(slowKind("crowd", 1_000), `${secret} ${n}`, 1));
  await near.take(slowKind("crowd", 1_000), secret, 1_000);
  await Promise.all(crowd);
  expect(await client.hlen(`${name}:buckets`)).toBe(await client.zcard(`${name}:order`));
  expect(await client.hlen(`${name}:buckets`)).toBeLessThanOrEqual(20_001);
  expect(JSON.stringify([await client.keys("*"), await client.hgetall(`${name}:buckets`)])).not.toContain(secret);
  // Who has taken most is remembered longest.
  expect((await far.take(slowKind("crowd", 1_000), secret, 1)).ok).toBe(false);
  const brief = { name: "brief", perSecond: 1_000, burst: 10 };
  await near.take(brief, "a", 10);
  const left = () => client.exists(`drover:{${installation}:brief}:buckets`);
  await expect.poll(left, { timeout: 20_000 }).toBe(0);
  client.disconnect();
  for (const end of [near, far]) await end.close();
});

test("a Redis that does not answer holds up nobody for long, and each process counts by itself from what it has counted", async () => {
  const [near, far] = await openTwo();
  const kind = slowKind("stalled", 6);
  await near.take(kind, "a", 4);
  const client = new Redis(redis.url);
  await client.client("PAUSE", 600_000, "ALL");
  expect(await takeUntilRefused(near, kind, "a")).toBe(2);
  expect(await takeUntilRefused(far, kind, "a")).toBe(6);
  client.disconnect();
  await redis.kill();
  await redis.start();
  await untilTogether(near, far);
  for (const end of [near, far]) await end.close();
});

test("a Redis that is killed leaves each process its own count, and is counted with again", async () => {
  const [near, far] = await openTwo();
  const kind = slowKind("killed", 4);
  expect(await takeUntilRefused(near, kind, "a")).toBe(4);
  expect((await far.take(kind, "a", 1)).ok).toBe(false);
  await redis.kill();
  expect((await near.take(kind, "a", 1)).ok).toBe(false);
  await expect.poll(async () => (await far.take(kind, "a", 1)).ok, { timeout: 20_000 }).toBe(true);
  expect(await takeUntilRefused(far, kind, "a")).toBe(3);
  await redis.start();
  await untilTogether(near, far);
  for (const end of [near, far]) await end.close();
});
