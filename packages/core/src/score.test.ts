import { orderByScore, pickTasks, toScore, toScoreWeights, type Candidate, type Scored } from "@drover/core";
import { OPTIONS, type Config } from "@drover/contract";
import fc from "fast-check";
import { expect, test } from "vitest";

const config = Object.fromEntries(
  Object.entries(OPTIONS).map(([name, option]) => [
    name,
    "fallback" in option ? option.schema.parse(option.fallback) : undefined,
  ]),
) as Config;
const weights = toScoreWeights(config);
const NOW = new Date("2026-01-01T12:00:00Z");
const ago = (seconds: number) => new Date(NOW.getTime() - seconds * 1_000);

const task = (more: Partial<Scored> & { readonly age?: number; readonly slack?: number } = {}): Scored => ({
  priority: "MEDIUM",
  created_at: ago(more.age ?? 0),
  deadline_at: more.slack === undefined ? null : ago(-more.slack),
  blockers: 0,
  retry_count: 0,
  max_retries: 3,
  ...more,
});

const VECTORS: readonly [string, Parameters<typeof task>[0], number][] = [
  ["a new task of middle priority", {}, 0.45 * 0.5 + 0.05],
  ["a critical one", { priority: "CRITICAL" }, 0.45 + 0.05],
  ["a high one", { priority: "HIGH" }, 0.45 * 0.75 + 0.05],
  ["a low one", { priority: "LOW" }, 0.45 * 0.25 + 0.05],
  ["an unknown priority", { priority: "toString" }, 0.45 * 0.25 + 0.05],
  ["half an hour old", { age: 1_800 }, 0.225 + 0.1 + 0.05],
  ["an hour old", { age: 3_600 }, 0.225 + 0.2 + 0.05],
  ["older than that counts no more", { age: 7_199 }, 0.225 + 0.2 + 0.05],
  ["starving", { age: 7_200, priority: "LOW", retry_count: 3 }, 0.6],
  ["starving but better than the floor", { age: 7_200, priority: "CRITICAL" }, 0.45 + 0.2 + 0.05],
  ["a deadline far away", { slack: 901 }, 0.275],
  ["at the edge of the window", { slack: 900 }, 0.275 * 1.25],
  ["half into the window", { slack: 450 }, (0.275 + 0.075) * 1.25],
  ["at its deadline", { slack: 0 }, (0.275 + 0.15) * 1.25],
  ["past its deadline", { slack: -1 }, 0.275 + 0.15],
  ["five wait for it", { blockers: 5 }, 0.275 + 0.075],
  ["more than ten wait for it", { blockers: 25 }, 0.275 + 0.15],
  ["one retry used", { retry_count: 1 }, 0.225 + 0.05 * (2 / 3)],
  ["no retries to begin with", { max_retries: 0 }, 0.275],
  ["more retries than allowed", { retry_count: 9 }, 0.225],
  ["all at once", { priority: "CRITICAL", age: 3_600, slack: 0, blockers: 10 }, 1.25],
];

test.for(VECTORS)("%s", ([, more, expected]) => {
  expect(toScore(task(more), weights, NOW)).toBeCloseTo(expected, 10);
});

test("weights come from the configuration", () => {
  const other = toScoreWeights({ ...config, queueWeightPriority: 1, queueWeightRetries: 0 });
  expect(toScore(task(), other, NOW)).toBeCloseTo(0.5, 10);
});

const arbitraryCandidate = fc.record({
  id: fc.uuid(),
  project_id: fc.constantFrom("p", "q"),
  ticket_id: fc.constantFrom("t", "u"),
  owned_files: fc.subarray(["a", "b", "c"]),
  priority: fc.constantFrom("CRITICAL", "HIGH", "MEDIUM", "LOW"),
  created_at: fc.integer({ min: 0, max: 10_000 }).map(ago),
  deadline_at: fc.option(fc.integer({ min: -2_000, max: 2_000 }).map(ago)),
  blockers: fc.nat(20),
  retry_count: fc.nat(5),
  max_retries: fc.nat(5),
});

test("what is picked is the best that fits: within the limits, and never two that share a file of one ticket", () => {
  const shares = (a: readonly string[], b: readonly string[]) => a.some((one) => b.includes(one));
  fc.assert(
    fc.property(
      fc.array(arbitraryCandidate, { maxLength: 20 }),
      fc.nat(6),
      fc.nat(4),
      fc.nat(4),
      (candidates, overall, p, q) => {
        const ordered = orderByScore(candidates, weights, NOW);
        const limits = new Map([
          ["p", p],
          ["q", q],
        ]);
        const picked: readonly Candidate[] = pickTasks(ordered, [], { overall, byProject: limits }, shares);
        expect(picked.length).toBeLessThanOrEqual(overall);
        for (const [project, limit] of limits)
          expect(picked.filter((one) => one.project_id === project).length).toBeLessThanOrEqual(limit);
        const clash = (a: Candidate, b: Candidate) =>
          a !== b && a.ticket_id === b.ticket_id && shares(a.owned_files, b.owned_files);
        expect(picked.some((a) => picked.some((b) => clash(a, b)))).toBe(false);
        // Whoever was passed over was passed over for a reason.
        for (const one of ordered) {
          if (picked.includes(one as Candidate)) continue;
          const better = picked.filter((other) => ordered.indexOf(other as never) < ordered.indexOf(one));
          const hasReason =
            picked.length >= overall ||
            better.filter((other) => other.project_id === one.project_id).length >= (limits.get(one.project_id) ?? 0) ||
            better.some((other) => clash(other, one));
          expect(hasReason).toBe(true);
        }
        const scores = picked.map((one) => toScore(one, weights, NOW));
        expect(scores).toEqual(scores.toSorted((a, b) => b - a));
      },
    ),
  );
});
