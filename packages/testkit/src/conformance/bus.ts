/** What every `Bus` must do: never be in the way; and one between processes carries hints when it can. */
import { describe, expect, test } from "vitest";
import type { Bus } from "../../../server/src/ports/bus.ts";

const MESSAGE = { eventType: "SANDBOX_agent.message", json: '{"type":"event"}' };
const IN_TIME = { timeout: 20_000, interval: 20 };

async function untilUp(bus: Bus): Promise<Bus> {
  await expect.poll(() => bus.isUp(), IN_TIME).toBe(true);
  return bus;
}

/** Hints may be lost, so they are repeated until one arrives. */
function repeatHints(from: Bus, to: Bus): () => number {
  let heard = 0;
  to.onHint(() => (heard += 1));
  return () => (from.publish([MESSAGE]), heard);
}

export function describeBus(name: string, open: () => Promise<Bus>): void {
  describe(`Bus: ${name}`, () => {
    test("publishing never throws: nothing, much, and after the end", async () => {
      const bus = await untilUp(await open());
      expect(() => bus.publish([])).not.toThrow();
      expect(() => bus.publish(Array.from({ length: 5_000 }, () => MESSAGE))).not.toThrow();
      await bus.close();
      expect(() => bus.publish([MESSAGE])).not.toThrow();
      await bus.close();
    });
  });
}

/** Two that are opened are two ends of one bus. */
export function describeSharedBus(name: string, open: () => Promise<Bus>): void {
  describeBus(name, open);
  describe(`Bus between processes: ${name}`, () => {
    test("a hint reaches the other end", async () => {
      const [near, far] = [await untilUp(await open()), await untilUp(await open())];
      await expect.poll(repeatHints(near, far), IN_TIME).toBeGreaterThan(0);
      for (const bus of [near, far]) await bus.close();
    });

    test("who stopped listening hears nothing more, and the others go on", async () => {
      const bus = await untilUp(await open());
      let heard = 0;
      bus.onHint(() => (heard += 1))();
      await expect.poll(repeatHints(bus, bus), IN_TIME).toBeGreaterThan(0);
      expect(heard).toBe(0);
      await bus.close();
    });
  });
}
