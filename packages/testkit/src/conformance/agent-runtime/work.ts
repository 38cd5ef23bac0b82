/** Plain work: tools, words, turns, and the end. */
import { expect } from "vitest";
import { CANARY } from "./run.ts";
import type { Scenario } from "./scenario.ts";

const TOOL_BEGINS = "agent.tool_use";
const TOOL_ENDS = "agent.tool_result";

export const WORK: readonly Scenario[] = [
  {
    title: "a run with two tools and a word",
    plan: () => ({
      first: [
        { write: { path: "made.txt", content: "made by the agent\n" } },
        { run: "env; pwd; cat made.txt" },
        { say: "All is done." },
      ],
    }),
    play: (run) => run.untilCount("agent.waiting"),
    promises: [
      {
        title: "the model is asked with the prompt",
        needsModel: true,
        keep: (run) => expect(run.isInRequest(1, "Do as planned.")).toBe(true),
      },
      {
        title: "tools really run, in the working directory",
        keep: async (run) => {
          expect(await run.read("made.txt")).toBe("made by the agent\n");
          const output = JSON.stringify(run.of(TOOL_ENDS).at(-1));
          expect(output).toContain("made by the agent");
          expect(output).toContain(run.cwd);
        },
      },
      {
        title: "each tool begins before it ends, under one id, and no two share one",
        keep: (run) => {
          const begun = run.of(TOOL_BEGINS).map((data) => data["tool_use_id"]);
          expect(begun).toHaveLength(2);
          expect(run.of(TOOL_ENDS).map((data) => data["tool_use_id"])).toEqual(begun);
          expect(new Set(begun).size).toBe(2);
          expect(run.types.indexOf(TOOL_BEGINS)).toBeLessThan(run.types.indexOf(TOOL_ENDS));
        },
      },
      {
        title: "every event of the agent carries its turn, and turns never go back",
        keep: (run) => {
          const turns = run.events
            .filter(({ event_type }) => event_type.startsWith("agent."))
            .map(({ event_data }) => event_data["turn"]);
          expect(turns.every((turn) => Number.isInteger(turn) && Number(turn) >= 1)).toBe(true);
          expect(turns.toSorted((a, b) => Number(a) - Number(b))).toEqual(turns);
        },
      },
      {
        title: "what it says is told in full",
        keep: (run) => expect(run.of("agent.message").map((data) => data["content"])).toContain("All is done."),
      },
      {
        title: "it completes once, and waits then",
        keep: (run) => {
          expect(run.of("agent.completed")).toHaveLength(1);
          expect(run.of("agent.completed")[0]).toMatchObject({ success: true, turns: 1 });
          expect(run.types.lastIndexOf("agent.waiting")).toBeGreaterThan(run.types.indexOf("agent.completed"));
        },
      },
      {
        title: "every step can be written down as JSON",
        keep: (run) => {
          for (const step of run.steps)
            expect(JSON.parse(JSON.stringify(step.mark ?? null))).toEqual(step.mark ?? null);
          expect(run.steps.some((step) => step.mark !== undefined)).toBe(true);
        },
      },
      {
        title: "tools see no credential of the worker's",
        keep: (run) => {
          const output = JSON.stringify(run.of(TOOL_ENDS));
          for (const word of [CANARY, "drv_s_", "SANDBOX_TOKEN"]) expect(output).not.toContain(word);
        },
      },
    ],
  },
  {
    title: "two turns",
    plan: () => ({ first: [{ say: "First answer." }], later: [{ say: "Second answer." }] }),
    play: async (run) => {
      await run.untilCount("agent.waiting");
      run.send("And now?");
      await run.untilCount("agent.waiting", 2);
    },
    promises: [
      {
        title: "a message after the work is a turn of its own",
        keep: (run) => {
          expect(run.of("agent.message_injected")).toMatchObject([{ content: "And now?", turn: 2 }]);
          expect(run.of("agent.message").at(-1)).toMatchObject({ content: "Second answer.", turn: 2 });
        },
      },
      {
        title: "its receipt says seen, in that turn, once",
        keep: (run) => expect(run.receipts).toMatchObject([{ status: "seen", turn: 2 }]),
      },
      {
        title: "the agent still knows the first turn",
        needsModel: true,
        keep: (run) => {
          expect(run.isInRequest(2, "First answer.")).toBe(true);
          expect(run.isInRequest(2, "And now?")).toBe(true);
        },
      },
      {
        title: "each turn completes",
        keep: (run) => expect(run.of("agent.completed").map((data) => data["turn"])).toEqual([1, 2]),
      },
    ],
  },
  {
    title: "nobody speaks after the work",
    plan: () => ({ first: [{ say: "Done." }], order: { postCompletionSeconds: 0.05 } }),
    play: (run) => run.done.then(() => undefined),
    promises: [
      {
        title: "it ends by itself and says so",
        keep: async (run) => expect(await run.done).toMatchObject({ reason: "timeout", turns: 1 }),
      },
    ],
  },
];
