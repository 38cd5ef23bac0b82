import { expect, test } from "vitest";
import { findWinner } from "./race.ts";

const runner = (state: "running" | "completed" | "terminated", race?: string) => ({
  state,
  labels: race === undefined ? {} : { race },
});

test("who was not terminated has won, in a race and nowhere else", () => {
  const [stands, out] = [runner("completed", "r1"), runner("terminated", "r1")];
  expect(findWinner(stands, out)).toBe(stands);
  expect(findWinner(out, stands)).toBe(stands);
  expect(findWinner(runner("running", "r1"), runner("running", "r1"))).toBeUndefined();
  expect(findWinner(out, out)).toBeUndefined();
  expect(findWinner(stands, runner("terminated", "r2"))).toBeUndefined();
  expect(findWinner(runner("completed"), runner("terminated"))).toBeUndefined();
});
