/** Interrupts: the turn ends, the session stays. */
import { expect } from "vitest";
import { isOnThisMachine, uniqueNap } from "../sandbox/given.ts";
import type { Scenario } from "./scenario.ts";

const nap = uniqueNap();
const lastNap = uniqueNap();

export const INTERRUPT: readonly Scenario[] = [
  {
    title: "an interrupt while a tool runs",
    needs: (_traits, { interrupt }) => interrupt,
    plan: () => ({
      first: [{ run: `touch begun; exec sleep ${nap}` }, { say: "Never said." }],
      later: [{ say: "I go on." }],
    }),
    play: async (run) => {
      await run.untilFile("begun");
      await run.untilCount("agent.tool_use");
      run.interrupt("That is enough.");
      await run.untilCount("agent.interrupted");
      await run.until("the process is gone", () => !isOnThisMachine(nap));
      run.send("Go on.");
      await run.until("an answer", () => run.of("agent.message").length > 0);
      await run.untilCount("agent.waiting", 2);
    },
    promises: [
      {
        title: "the turn ends as interrupted, with the reason",
        keep: (run) =>
          expect(run.of("agent.interrupted")).toMatchObject([
            { reason: "That is enough.", was_running: true, turn: 1 },
          ]),
      },
      {
        title: "the interrupt gets its receipt",
        keep: (run) => expect(run.receipts[0]).toMatchObject({ messageId: "msg-000000000001", status: "seen" }),
      },
      {
        title: "the tool is told as ended, in error",
        keep: (run) => expect(run.of("agent.tool_result")).toMatchObject([{ is_error: true }]),
      },
      {
        title: "the tool's process is gone",
        keep: () => expect(isOnThisMachine(nap)).toBe(false),
      },
      {
        title: "an interrupted turn is not told as completed",
        keep: (run) => {
          const at = run.types.indexOf("agent.interrupted");
          expect(run.types.slice(0, at)).not.toContain("agent.completed");
          expect(run.types.slice(0, at)).not.toContain("agent.failed");
        },
      },
      {
        title: "the next message is the next turn of the same session",
        keep: (run) => expect(run.of("agent.message_injected")).toMatchObject([{ content: "Go on.", turn: 2 }]),
      },
      {
        title: "the agent still knows what was before",
        needsModel: true,
        keep: (run) => {
          expect(run.isInRequest(2, "Do as planned.")).toBe(true);
          expect(run.isInRequest(2, "Go on.")).toBe(true);
        },
      },
    ],
  },
  {
    title: "an interrupt while the model says nothing",
    needs: ({ model }, { interrupt }) => model && interrupt,
    plan: () => ({ first: [{ hang: "Well" }], later: [{ say: "Here I am again." }] }),
    play: async (run) => {
      await run.until("the first request", () => run.requests.length > 0);
      run.interrupt();
      await run.untilCount("agent.interrupted");
      run.send("Still there?");
      await run.until("an answer", () =>
        run.of("agent.message").some((data) => data["content"] === "Here I am again."),
      );
    },
    promises: [
      {
        title: "the request to the model is given up",
        keep: async (run) => expect(await run.requests[0]?.ended).toBe("aborted"),
      },
      {
        title: "the session goes on with the next message",
        keep: (run) => expect(run.of("agent.message_injected")).toMatchObject([{ content: "Still there?", turn: 2 }]),
      },
    ],
  },
  {
    title: "an interrupt while nothing runs",
    needs: (_traits, { interrupt }) => interrupt,
    plan: () => ({ first: [{ say: "Done." }], later: [{ say: "Yes." }] }),
    play: async (run) => {
      await run.untilCount("agent.waiting");
      run.interrupt();
      await run.untilCount("agent.interrupted");
      run.send("Are you there?");
      await run.until("an answer", () => run.of("agent.message").some((data) => data["content"] === "Yes."));
    },
    promises: [
      {
        title: "it is told as such, and does no harm",
        keep: (run) => expect(run.of("agent.interrupted")).toMatchObject([{ was_running: false }]),
      },
    ],
  },
  {
    title: "the end while a tool runs",
    plan: () => ({ first: [{ run: `exec sleep ${lastNap}` }] }),
    play: async (run) => {
      await run.until("it sleeps", () => isOnThisMachine(`sleep\0${lastNap}`));
      await run.close();
      await run.until("the process is gone", () => !isOnThisMachine(lastNap));
    },
    promises: [
      {
        title: "the session ends with its reason",
        keep: async (run) => expect(await run.done).toMatchObject({ reason: "closed" }),
      },
      {
        title: "no process of the agent is left",
        keep: () => expect(isOnThisMachine(lastNap)).toBe(false),
      },
      {
        title: "nothing is told that did not happen",
        keep: (run) => expect(run.of("agent.completed")).toHaveLength(0),
      },
    ],
  },
];
