/** Exactly as many events are open as were sent and not acknowledged, whenever a client begins to acknowledge. */
import fc from "fast-check";
import { expect, test } from "vitest";
import type { TailEvent } from "../app/tail-event.ts";
import { openUnacknowledged } from "./unacknowledged.ts";

const toEvents = (from: number, count: number) =>
  Array.from({ length: count }, (_, index) => ({ seq: from + index }) as TailEvent);

test("who acknowledges nothing has no bound", () => {
  const window = openUnacknowledged(10);
  window.add(toEvents(1, 500));
  expect(window.room()).toBe(Infinity);
});

test("the first acknowledgement counts what was sent before it", () => {
  const window = openUnacknowledged(10);
  for (let n = 0; n < 100; n += 1) window.add(toEvents(1 + n * 7, 7));
  window.acknowledge(1);
  expect(window.room()).toBe(0);
  window.acknowledge(690);
  expect(window.room()).toBe(0);
  window.acknowledge(694);
  expect(window.room()).toBe(4);
});

test("room is the limit less everything above the highest acknowledgement", () => {
  const step = fc.oneof(
    fc.record({ add: fc.integer({ min: 1, max: 9 }) }),
    fc.record({ acknowledge: fc.integer({ min: 0, max: 120 }) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
      const window = openUnacknowledged(20);
      let head = 0;
      let acknowledged: number | undefined;
      for (const one of steps) {
        if ("add" in one) {
          window.add(toEvents(head + 1, one.add));
          head += one.add;
        } else {
          acknowledged = Math.max(acknowledged ?? 0, one.acknowledge);
          window.acknowledge(one.acknowledge);
        }
        const open = acknowledged === undefined ? -Infinity : Math.max(0, head - acknowledged);
        expect(window.room()).toBe(Math.max(0, 20 - open));
      }
    }),
  );
});
