/** The verdict of a soak. */
import { expect, it } from "vitest";
import { toGrowth } from "./growth.ts";

const ALLOWANCE = { atLeast: 10, share: 0.05 };
const sampled = (toValue: (minute: number) => number) =>
  Array.from({ length: 61 }, (_, minute) => ({ minute, value: toValue(minute) }));

it("calls a figure that climbs to the end grown", () => {
  expect(
    toGrowth(
      sampled((minute) => 200 + minute),
      ALLOWANCE,
    ),
  ).toMatchObject({ isGrown: true, allowed: 12.25 });
});

it("forgives what was reached in the first half", () => {
  const growth = toGrowth(
    sampled((minute) => 200 + 5 * Math.min(minute, 30)),
    ALLOWANCE,
  );
  expect(growth).toEqual({ grown: 0, allowed: 17.5, isGrown: false });
});

it("is not turned by a few outliers", () => {
  const growth = toGrowth(
    sampled((minute) => (minute > 57 ? 900 : 200)),
    ALLOWANCE,
  );
  expect(growth).toEqual({ grown: 0, allowed: 10, isGrown: false });
});

it("allows a share of a large figure and an amount of a small one", () => {
  const climbing = (from: number) => sampled((minute) => from + minute / 2);
  expect(toGrowth(climbing(10), ALLOWANCE).isGrown).toBe(true);
  expect(toGrowth(climbing(1_000), ALLOWANCE).isGrown).toBe(false);
  expect(
    toGrowth(
      sampled((minute) => minute / 4),
      ALLOWANCE,
    ).isGrown,
  ).toBe(false);
});
