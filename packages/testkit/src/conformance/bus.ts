/** What every `Bus` must do: carry hints when it can, and never be in the way. */
import { describe, expect, test } from "vitest";
import type { Bus } from "../../../server/src/ports/bus.ts";

const MESSAGE = { eventType: "SANDBOX_agent.message", json: '{"type":"event"}' };

/** `open` gives one bus; two of them are two ends when `isShared`. One for a single process has nobody to hint to. */
export function describeBus(name: string, open: () => Promise<Bus>, options: { readonly isShared: boolean }): void {
  describe(`Bus: ${name}`, () => {
    const opened = async () => {
      const bus = await open();
      await expect.poll(() => bus.isUp(), { timeout: 5_000 }).toBe(true);
      return bus;
    };
    /** Hints may be lost, so they are repeated until one arrives. */
    const hints = (from: Bus, to: Bus) => {
      let heard = 0;
      to.onHint(() => (heard += 1));
      return () => (from.publish([MESSAGE]), heard);
    };
    const IN_TIME = { timeout: 5_000, interval: 20 };

    if (options.isShared) {
      test("a hint reaches the other end", async () => {
        const [near, far] = [await opened(), await opened()];
        await expect.poll(hints(near, far), IN_TIME).toBeGreaterThan(0);
        for (const bus of [near, far]) await bus.close();
      });

      test("who stopped listening hears nothing more, and the others go on", async () => {
        const bus = await opened();
        let heard = 0;
        bus.onHint(() => (heard += 1))();
        await expect.poll(hints(bus, bus), IN_TIME).toBeGreaterThan(0);
        expect(heard).toBe(0);
        await bus.close();
      });
    }

    test("publishing never throws: nothing, much, and after the end", async () => {
      const bus = await opened();
      expect(() => bus.publish([])).not.toThrow();
      expect(() => bus.publish(Array.from({ length: 5_000 }, () => MESSAGE))).not.toThrow();
      await bus.close();
      expect(() => bus.publish([MESSAGE])).not.toThrow();
      await bus.close();
    });
  });
}
