/** Messages to an agent at work. */
import { expect } from "vitest";
import { createHold } from "../../model/hold.ts";
import { waitFor } from "./run.ts";
import type { Scenario } from "./scenario.ts";

const hold = createHold();

export const STEER: readonly Scenario[] = [
  {
    title: "a message while a tool runs",
    needs: (_traits, { steer }) => steer !== "cancel",
    plan: () => ({
      first: [{ run: `touch begun; ${waitFor("go")}` }, { say: "I heard you." }],
      later: [{ say: "I heard you." }],
    }),
    play: async (run) => {
      await run.untilFile("begun");
      run.send("Use the other door.");
      await run.untilTaken("Use the other door.");
      await run.make("go");
      await run.untilCount("agent.waiting");
    },
    promises: [
      {
        title: "it is injected into the turn that runs",
        keep: (run) =>
          expect(run.of("agent.message_injected")).toMatchObject([{ content: "Use the other door.", turn: 1 }]),
      },
      {
        title: "it stands in the model's next request",
        needsModel: true,
        keep: (run) => {
          expect(run.isInRequest(1, "Use the other door.")).toBe(false);
          expect(run.isInRequest(2, "Use the other door.")).toBe(true);
          expect(run.isInRequest(2, "go came")).toBe(true);
        },
      },
      {
        title: "its receipt says seen, once, in the turn that runs",
        keep: (run) => expect(run.receipts).toMatchObject([{ status: "seen", turn: 1 }]),
      },
      {
        title: "the tool is not disturbed",
        keep: (run) => expect(run.of("agent.tool_result")).toMatchObject([{ is_error: false }]),
      },
      {
        title: "the work completes once",
        keep: (run) => expect(run.of("agent.completed")).toHaveLength(1),
      },
    ],
  },
  {
    title: "three messages while a tool runs",
    needs: (_traits, { steer }) => steer === "native" || steer === "extension",
    plan: () => ({
      first: [{ run: `touch begun; ${waitFor("go")}` }, { say: "Heard all." }],
      later: [{ say: "Heard all." }],
    }),
    play: async (run) => {
      await run.untilFile("begun");
      for (const word of ["one", "two", "three"]) run.send(`Message ${word}.`);
      await run.make("go");
      await run.untilCount("agent.waiting");
    },
    promises: [
      {
        title: "none is lost, none comes twice, and they keep their order",
        keep: (run) => {
          expect(run.of("agent.message_injected").map((data) => data["content"])).toEqual([
            "Message one.",
            "Message two.",
            "Message three.",
          ]);
          expect(new Set(run.receipts.map(({ messageId }) => messageId)).size).toBe(3);
          expect(run.receipts).toHaveLength(3);
        },
      },
    ],
  },
  {
    title: "a message that is to wait for the turn's end",
    plan: () => ({
      first: [{ run: `touch begun; ${waitFor("go")}` }, { say: "First is done." }],
      later: [{ say: "Now the second." }],
    }),
    play: async (run) => {
      await run.untilFile("begun");
      run.send("Later, please.", "queue");
      await run.make("go");
      await run.until("the second answer", () =>
        run.of("agent.message").some((data) => data["content"] === "Now the second."),
      );
      await run.untilCount("agent.waiting");
    },
    promises: [
      {
        title: "it is not in the turn that runs",
        keep: (run) => {
          const texts = run.events.map(({ event_type, event_data }) =>
            event_type === "agent.message" ? event_data["content"] : event_type,
          );
          expect(texts.indexOf("agent.message_injected")).toBeGreaterThan(texts.indexOf("First is done."));
        },
      },
      {
        title: "it becomes the next turn",
        keep: (run) => expect(run.of("agent.message_injected")).toMatchObject([{ turn: 2 }]),
      },
      {
        title: "the model is not asked with it before",
        needsModel: true,
        keep: (run) => {
          expect(run.isInRequest(2, "Later, please.")).toBe(false);
          expect(run.isInRequest(3, "Later, please.")).toBe(true);
        },
      },
    ],
  },
  {
    title: "a message while the last word is spoken",
    needs: ({ model }, { steer }) => model && steer === "native",
    plan: () => ({ first: [{ say: "The last word.", holdLast: hold }], later: [{ say: "One more." }] }),
    play: async (run) => {
      await hold.reached;
      run.send("Wait, one more thing.");
      hold.release();
      await run.until("the second answer", () =>
        run.of("agent.message").some((data) => data["content"] === "One more."),
      );
      await run.untilCount("agent.waiting");
    },
    promises: [
      {
        title: "it is answered, though the turn was about to end",
        keep: (run) => expect(run.isInRequest(2, "Wait, one more thing.")).toBe(true),
      },
      {
        title: "its receipt says seen, once",
        keep: (run) => expect(run.receipts).toMatchObject([{ status: "seen" }]),
      },
      {
        title: "the work is not told as completed before it was answered",
        keep: (run) => {
          expect(run.of("agent.completed")).toHaveLength(1);
          expect(run.types.indexOf("agent.completed")).toBeGreaterThan(run.types.indexOf("agent.message_injected"));
        },
      },
    ],
  },
];
