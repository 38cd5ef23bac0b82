/** Every case of what becomes of a sandbox, as tables. */
import { SandboxState, TERMINAL_SANDBOX_STATES } from "@drover/contract";
import { describe, expect, test } from "vitest";
import { decideFate, decideVerdict, type Fate, type KnownSandbox, type Observation } from "./decide-fate.ts";

const STATES = SandboxState.options;
const LIVING = STATES.filter((state) => !TERMINAL_SANDBOX_STATES.has(state));
const ENDED = [...TERMINAL_SANDBOX_STATES];

describe("what stands at a provider", () => {
  test("and no row knows is destroyed", () => {
    expect(decideFate(undefined, { generation: 1 })).toBe("destroy");
  });

  interface Row extends Omit<KnownSandbox, "state" | "generation"> {
    readonly states: readonly SandboxState[];
    readonly found: "older" | "same" | "newer";
    readonly fate: Fate;
  }
  const open = { isProvisioned: true, isClosed: false };
  const table: readonly Row[] = [
    { ...open, states: LIVING, found: "same", fate: "adopt" },
    { ...open, states: LIVING, found: "same", isProvisioned: false, fate: "leave" },
    { ...open, states: ENDED, found: "same", fate: "destroy" },
    { ...open, states: ENDED, found: "same", isProvisioned: false, fate: "destroy" },
    { ...open, states: STATES, found: "older", fate: "destroy" },
    { ...open, states: STATES, found: "older", isProvisioned: false, fate: "destroy" },
    { ...open, states: STATES, found: "newer", fate: "leave" },
    { ...open, states: STATES, found: "newer", isProvisioned: false, fate: "leave" },
    ...(["older", "same", "newer"] as const).flatMap((found) =>
      [true, false].map((isProvisioned): Row => {
        return { states: STATES, found, isProvisioned, isClosed: true, fate: "destroy" };
      }),
    ),
  ];
  const GENERATIONS = { older: 1, same: 2, newer: 3 } as const;
  test.for(table)("of the $found generation (noted $isProvisioned, closed $isClosed): $fate", (row) => {
    const { states, found, fate, ...known } = row;
    const fates = states.map((state) =>
      decideFate({ ...known, state, generation: 2 }, { generation: GENERATIONS[found] }),
    );
    expect(new Set(fates)).toEqual(new Set([fate]));
  });

  test("the table has every case", () => {
    const cases = table.flatMap(({ states, found, isProvisioned, isClosed }) =>
      states.map((state) => `${state} ${found} ${isProvisioned} ${isClosed}`),
    );
    expect(new Set(cases).size).toBe(STATES.length * 3 * 2 * 2);
    expect(cases).toHaveLength(new Set(cases).size);
  });
});

describe("what a provider sees", () => {
  const well: Observation = { standing: "running", reason: null, isOomKilled: false, workerExit: null };
  const lost = (cause: string) => ({ to: "failed", cause, isLost: true });
  const failed = (cause: string) => ({ to: "failed", cause, isLost: false });
  const over = (cause: string) => ({ to: "terminated", cause, isLost: false });
  const exit = (code: number | null, signal: string | null = null) => ({ workerExit: { code, signal } });

  test.for([
    ["that runs", {}, undefined, undefined],
    ["that stands still", { standing: "paused" }, undefined, undefined],
    ["that is gone", { standing: undefined }, lost("the provider lost it"), over("ended")],
    ["that stopped", { standing: "stopped" }, lost("it stopped"), over("ended")],
    ["that was stopped for its disk", { standing: "stopped", reason: "disk" }, lost("disk"), over("ended")],
    [
      "that was stopped for its memory",
      { standing: "stopped", isOomKilled: true },
      failed("out of memory"),
      over("ended"),
    ],
    ["whose worker left", exit(0), failed("worker exited with code 0"), over("the worker left")],
    ["whose worker broke", exit(1), failed("worker exited with code 1"), over("the worker left")],
    ["whose worker was killed", exit(null, "SIGKILL"), lost("worker killed by SIGKILL"), over("the worker left")],
    [
      "whose worker was killed, told as a code",
      exit(137),
      lost("worker exited with code 137"),
      over("the worker left"),
    ],
    [
      "whose worker was killed for memory",
      { ...exit(null, "SIGKILL"), isOomKilled: true },
      failed("out of memory"),
      over("the worker left"),
    ],
    [
      "whose worker was told to end, after something was killed for memory",
      { ...exit(null, "SIGTERM"), isOomKilled: true },
      failed("worker killed by SIGTERM"),
      over("the worker left"),
    ],
    ["in which a command was killed for memory", { isOomKilled: true }, undefined, undefined],
  ] as const)("%s", ([, seen, atWork, completed]) => {
    for (const state of STATES) {
      const expected = ENDED.includes(state) ? undefined : state === "completed" ? completed : atWork;
      expect(decideVerdict(state, { ...well, ...seen }), state).toEqual(expected);
    }
  });
});
