import fc from "fast-check";
import { expect, test } from "vitest";
import { EVENT_DATA_LIMIT_BYTES } from "./events/event.ts";
import { toEventData } from "./event-text.ts";
import { findJsonComplaint } from "./json.ts";

test("whatever an agent says becomes data that the store takes, and ordinary data is unchanged", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.anything({ maxDepth: 5 })), (data) => {
      const clean = toEventData(data);
      expect(findJsonComplaint(clean)).toBeUndefined();
    }),
  );
  fc.assert(
    fc.property(fc.dictionary(fc.string({ unit: "grapheme" }), fc.jsonValue({ stringUnit: "grapheme" })), (data) => {
      fc.pre(!JSON.stringify(data).includes("\\u0000"));
      expect(JSON.stringify(toEventData(data))).toBe(JSON.stringify(data));
    }),
  );
});

test("data above the limit is cut in its longest texts and says so", () => {
  const data = toEventData({ turn: 3, result: "é".repeat(EVENT_DATA_LIMIT_BYTES), note: "short" });
  expect(Buffer.byteLength(JSON.stringify(data))).toBeLessThan(EVENT_DATA_LIMIT_BYTES);
  expect(data).toMatchObject({ turn: 3, note: "short", is_cut: true });
});

test("endless nesting is cut", () => {
  let deep: unknown = 1;
  for (let n = 0; n < 1_000; n++) deep = [deep];
  expect(findJsonComplaint(toEventData({ deep }))).toBeUndefined();
});
