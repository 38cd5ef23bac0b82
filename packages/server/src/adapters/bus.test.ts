import { afterAll, beforeAll, expect, test } from "vitest";
import { describeBus, describeSharedBus } from "../../../testkit/src/conformance/bus.ts";
import { startRedis, type TestRedis } from "../../../testkit/src/redis.ts";
import { silentLog } from "../../../testkit/src/silent-log.ts";
import { openMemoryBus } from "./bus-memory.ts";
import { openRedisBus } from "./bus-redis.ts";

let redis: TestRedis;

beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis[Symbol.asyncDispose]());

describeBus("bus-memory", async () => openMemoryBus());
describeSharedBus("bus-redis", async () => openRedisBus(redis.url, silentLog));

test("a Redis that is killed is down and in nobody's way, and is found again", async () => {
  const bus = openRedisBus(redis.url, silentLog);
  await expect.poll(() => bus.isUp(), { timeout: 20_000 }).toBe(true);
  let heard = 0;
  bus.onHint(() => (heard += 1));
  await redis.kill();
  await expect.poll(() => bus.isUp(), { timeout: 20_000 }).toBe(false);
  expect(() => bus.publish([{ eventType: "x", json: "{}" }])).not.toThrow();
  await redis.start();
  await expect.poll(() => bus.isUp(), { timeout: 20_000 }).toBe(true);
  // Whoever was away looks once, because something may have been missed.
  expect(heard).toBeGreaterThan(0);
  await bus.close();
});

test("a Redis that was never there harms nobody", async () => {
  const bus = openRedisBus("redis://127.0.0.1:1", silentLog);
  expect(bus.isUp()).toBe(false);
  expect(() => bus.publish([{ eventType: "x", json: "{}" }])).not.toThrow();
  await bus.close();
});
