/** What goes wrong: models that refuse, output that is too much, processes that die, workers that start again. */
import { expect } from "vitest";
import { toEventData } from "@drover/contract";
import { waitFor } from "./run.ts";
import type { Scenario } from "./scenario.ts";

const HUGE = "head -c 10000000 /dev/zero | tr '\\0' x";
const BROKEN = "printf 'bro\\377\\376ken \\000 text\\n'";

export const TROUBLE: readonly Scenario[] = [
  {
    title: "the model refuses",
    plan: () => ({ first: [{ fail: "no such thing" }] }),
    play: (run) => run.untilCount("agent.failed"),
    promises: [
      {
        title: "the run is told as failed, in the words of who refused",
        keep: (run) => expect(JSON.stringify(run.of("agent.failed"))).toContain("no such thing"),
      },
      {
        title: "and not as completed",
        keep: (run) => expect(run.of("agent.completed")).toHaveLength(0),
      },
      {
        title: "the stream still ends with a reason",
        keep: async (run) => expect(["closed", "failed"]).toContain((await run.close()).reason),
      },
    ],
  },
  {
    title: "a line of 10 MB, and bytes that are no text",
    plan: () => ({ first: [{ run: HUGE }, { run: BROKEN }, { say: "That was a lot." }] }),
    play: (run) => run.untilCount("agent.waiting"),
    promises: [
      {
        title: "results are bounded, and say how much there was",
        keep: (run) => {
          const [huge] = run.of("agent.tool_result");
          expect(String(huge?.["result"]).length).toBeLessThanOrEqual(5_000);
          // Some agents shorten what they hand on themselves.
          expect(huge?.["result_truncated"]).toBe(Number(huge?.["result_full_length"]) > 5_000);
        },
      },
      {
        title: "every event can be stored",
        keep: (run) => {
          for (const { event_data } of run.events) {
            const text = JSON.stringify(toEventData(event_data));
            expect(text.isWellFormed()).toBe(true);
            expect(text).not.toContain("\\u0000");
          }
        },
      },
      { title: "the run completes", keep: (run) => expect(run.of("agent.completed")).toHaveLength(1) },
    ],
  },
  {
    title: "two calls with the same id",
    needs: ({ model }) => model,
    plan: () => ({
      first: [{ run: "echo first call", id: "twice" }, { run: "echo second call", id: "twice" }, { say: "Both ran." }],
    }),
    play: (run) => run.until("an end", () => run.types.some((type) => /^agent\.(waiting|failed)$/.test(type))),
    promises: [
      {
        title: "it ends, one way or the other",
        keep: (run) => expect(run.of("agent.completed").length + run.of("agent.failed").length).toBe(1),
      },
      {
        title: "no result is told for a call that was not",
        keep: (run) => expect(run.of("agent.tool_result").length).toBeLessThanOrEqual(run.of("agent.tool_use").length),
      },
    ],
  },
  {
    title: "the agent's process dies in a tool",
    needs: ({ process }) => process,
    plan: () => ({ first: [{ run: "kill -9 $PPID" }, { say: "I am back." }] }),
    play: (run) => run.until("an end", () => run.types.some((type) => /^agent\.(waiting|failed)$/.test(type))),
    promises: [
      {
        title: "its death is told",
        keep: (run) => expect(run.of("agent.stream_error").length).toBeGreaterThanOrEqual(1),
      },
      {
        title: "the tool that ran is told as ended, in error",
        keep: (run) => expect(run.of("agent.tool_result")[0]).toMatchObject({ is_error: true }),
      },
      {
        title: "it is started again with its memory, or the run fails",
        keep: (run) => {
          const isKnown = run.isInRequest(run.requests.length, "Do as planned.");
          expect(run.of("agent.failed").length + (isKnown ? run.of("agent.completed").length : 0)).toBe(1);
        },
      },
    ],
  },
  {
    title: "the worker is started again in the middle of a tool",
    plan: () => ({
      first: [{ run: `echo x >> count; touch begun; ${waitFor("go")}` }, { say: "I am back." }],
      // It may have asked once more before it was ended.
      later: [{ say: "I am back." }],
    }),
    play: async (run) => {
      await run.untilFile("begun");
      await run.untilCount("agent.tool_use");
      await run.make("go");
      await run.restart();
      await run.untilCount("agent.waiting");
    },
    promises: [
      {
        title: "the tool that was cut off is told as ended, once",
        keep: (run) => {
          const [begun] = run.of("agent.tool_use");
          const ends = run.of("agent.tool_result").filter((data) => data["tool_use_id"] === begun?.["tool_use_id"]);
          expect(ends).toHaveLength(1);
        },
      },
      {
        title: "the run goes on to its end",
        keep: (run) => {
          expect(run.of("agent.message").map((data) => data["content"])).toContain("I am back.");
          expect(run.of("agent.completed")).toHaveLength(1);
        },
      },
      {
        title: "turns do not go back",
        keep: (run) => {
          const turns = run.events.map(({ event_data }) => Number(event_data["turn"]));
          expect(turns.toSorted((a, b) => a - b)).toEqual(turns);
        },
      },
      {
        title: "the agent still knows what was before",
        needsModel: true,
        keep: (run) => {
          const last = run.requests.length;
          expect(run.isInRequest(last, "Do as planned.")).toBe(true);
          expect(run.isInRequest(last, "begun")).toBe(true);
        },
      },
    ],
  },
  {
    title: "the worker is started again after the work",
    plan: () => ({ first: [{ say: "Done long ago." }], later: [{ say: "As before." }] }),
    play: async (run) => {
      await run.untilCount("agent.waiting");
      await run.restart();
      run.send("Do you remember?");
      await run.until("an answer", () => run.of("agent.message").some((data) => data["content"] === "As before."));
    },
    promises: [
      {
        title: "the work is not done again",
        keep: (run) =>
          expect(run.of("agent.message").filter((data) => data["content"] === "Done long ago.")).toHaveLength(1),
      },
      {
        title: "the next message is the next turn",
        keep: (run) => expect(run.of("agent.message_injected")).toMatchObject([{ turn: 2 }]),
      },
      {
        title: "the agent remembers",
        needsModel: true,
        keep: (run) => expect(run.isInRequest(run.requests.length, "Done long ago.")).toBe(true),
      },
    ],
  },
];
