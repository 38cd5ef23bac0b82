import { expect, test } from "vitest";
import { toWaitingCost } from "./waiting-cost.ts";

const NOW = Date.parse("2026-01-01T12:00:00Z");
const ago = (minutes: number) => new Date(NOW - minutes * 60_000).toISOString();
const cost = (kind: "permission" | "guardian" | "budget", minutes: number) =>
  toWaitingCost({ kind, since: ago(minutes) }, NOW);
const ticket = (priority: "CRITICAL" | "HIGH" | "MEDIUM" | "LOW", minutes: number) =>
  toWaitingCost({ kind: "approval", since: ago(minutes), ticket: { priority } }, NOW);

test("an agent that stands still costs more than one that goes on, and that more than what has not begun", () => {
  const together = [cost("permission", 5), cost("guardian", 5), cost("budget", 5), ticket("MEDIUM", 5)];
  expect(together).toEqual(together.toSorted((one, other) => other - one));
  expect(new Set(together).size).toBe(4);
});

test("waiting longer costs more, until it outweighs who waits", () => {
  expect(cost("permission", 10)).toBeGreaterThan(cost("permission", 9));
  expect(ticket("MEDIUM", 10)).toBeLessThan(cost("permission", 3));
  expect(ticket("MEDIUM", 60)).toBeGreaterThan(cost("permission", 3));
});

test("a ticket weighs as its priority does, and what has just come weighs, too", () => {
  expect(ticket("CRITICAL", 5)).toBeGreaterThan(ticket("HIGH", 5));
  expect(ticket("HIGH", 5)).toBeGreaterThan(ticket("LOW", 5));
  expect(cost("permission", 0)).toBeGreaterThan(cost("budget", 0));
  // A clock that runs behind the server's is not a debt.
  expect(cost("budget", -5)).toBe(cost("budget", 0));
});
