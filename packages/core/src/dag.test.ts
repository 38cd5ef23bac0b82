import { findCycle, planTasks, toOrder, toWaves, type Timed } from "@drover/core";
import fc from "fast-check";
import { describe, expect, test } from "vitest";

/** Task n waits for some of those before it. */
const arbitraryDag = fc
  .array(fc.record({ seconds: fc.integer({ min: 1, max: 100 }), picks: fc.array(fc.nat(1_000), { maxLength: 4 }) }), {
    minLength: 1,
    maxLength: 30,
  })
  .map((rows) =>
    rows.map(({ seconds, picks }, n): Timed => ({
      id: String(n),
      seconds,
      dependsOn: n === 0 ? [] : [...new Set(picks.map((pick) => String(pick % n)))],
    })),
  );

const toGraph = (tasks: readonly Timed[]) => new Map(tasks.map((task) => [task.id, task.dependsOn]));

describe("cycles", () => {
  test("a graph without one has none, from wherever one looks", () => {
    fc.assert(
      fc.property(arbitraryDag, (tasks) => {
        for (const { id } of tasks) expect(findCycle(toGraph(tasks), id)).toBeUndefined();
      }),
    );
  });

  test("an edge against the order closes one, and the path says which", () => {
    fc.assert(
      fc.property(arbitraryDag, fc.nat(1_000), (tasks, pick) => {
        const graph = new Map(toGraph(tasks));
        const late = tasks[pick % tasks.length];
        const early = late?.dependsOn[0] ?? late?.id ?? "";
        graph.set(early, [...(graph.get(early) ?? []), late?.id ?? ""]);
        const cycle = findCycle(graph, early) ?? [];
        expect(cycle[0]).toBe(early);
        expect(cycle.at(-1)).toBe(early);
        cycle.slice(1).forEach((to, n) => expect(graph.get(cycle[n] ?? "")).toContain(to));
      }),
    );
  });

  test("a task that waits for itself is one", () => {
    expect(findCycle(new Map([["a", ["a"]]]), "a")).toEqual(["a", "a"]);
  });
});

describe("the plan", () => {
  test("no task before its dependencies, none forgotten", () => {
    fc.assert(
      fc.property(arbitraryDag, (tasks) => {
        const order = toOrder(tasks.toReversed());
        expect(order.map(({ id }) => id).toSorted()).toEqual(tasks.map(({ id }) => id).toSorted());
        const place = new Map(order.map(({ id }, n) => [id, n]));
        for (const { id, dependsOn } of order)
          for (const other of dependsOn) expect(place.get(other)).toBeLessThan(place.get(id) ?? -1);
        const waves = toWaves(tasks, () => false);
        expect(waves.flat().toSorted()).toEqual(tasks.map(({ id }) => id).toSorted());
      }),
    );
  });

  test("the critical path is a chain without slack that takes as long as everything", () => {
    fc.assert(
      fc.property(arbitraryDag, (tasks) => {
        const plan = planTasks(tasks);
        const byId = new Map(tasks.map((task) => [task.id, task]));
        const seconds = plan.path.reduce((sum, id) => sum + (byId.get(id)?.seconds ?? 0), 0);
        expect(seconds).toBe(plan.totalSeconds);
        plan.path.slice(1).forEach((id, n) => expect(byId.get(id)?.dependsOn).toContain(plan.path[n]));
        for (const id of plan.path) expect(plan.slack.get(id)).toBe(0);
        // A task that takes its slack longer makes nothing later; one second more does.
        for (const task of tasks.slice(0, 5)) {
          const slack = plan.slack.get(task.id) ?? 0;
          const later = (more: number) =>
            planTasks(tasks.map((one) => (one === task ? { ...one, seconds: one.seconds + more } : one))).totalSeconds;
          expect(later(slack)).toBe(plan.totalSeconds);
          expect(later(slack + 1)).toBe(plan.totalSeconds + 1);
        }
      }),
    );
  });

  test("a single task is its own critical path", () => {
    expect(planTasks([{ id: "a", dependsOn: [], seconds: 5 }])).toMatchObject({ path: ["a"], totalSeconds: 5 });
  });

  test("tasks that are in each other's way stand in different waves", () => {
    const tasks = ["a", "b", "c"].map((id) => ({ id, dependsOn: [], seconds: 1 }));
    const isPair = (x: string, y: string) => [x, y].toSorted().join("") === "ab";
    expect(toWaves(tasks, isPair)).toEqual([["a", "c"], ["b"]]);
  });
});
