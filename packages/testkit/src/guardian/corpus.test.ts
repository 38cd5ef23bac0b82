import { expect, test } from "vitest";
import { generateCorpus, SESSION_KINDS } from "./corpus.ts";
import type { RecordedSession } from "@drover/contract";

const SEED = 20_260_105;
const corpus = generateCorpus(SEED, 6);

test("the same seed gives the same corpus, another seed another one", () => {
  expect(generateCorpus(SEED, 2)).toEqual(generateCorpus(SEED, 2));
  expect(generateCorpus(SEED + 1, 1)[0]?.events).not.toEqual(generateCorpus(SEED, 1)[0]?.events);
  expect(new Set(corpus.map(({ name }) => name)).size).toBe(SESSION_KINDS.length * 6);
});

const listIds = ({ events }: RecordedSession, type: string) =>
  events.filter(({ event_type: eventType }) => eventType === type).map(({ event_data: data }) => data["tool_use_id"]);

test("sequence numbers are dense, times rise, heartbeats come in time", () => {
  for (const { name, events } of corpus) {
    let beatMs = events[0]?.atMs ?? 0;
    for (const [index, { seq, atMs, event_type: eventType }] of events.entries()) {
      expect(seq, name).toBe(index + 1);
      if (index > 0) expect(atMs, `${name} ${seq}`).toBeGreaterThan(events[index - 1]?.atMs ?? 0);
      expect(atMs - beatMs, `${name} ${seq}`).toBeLessThan(35_000);
      if (eventType === "agent.heartbeat") beatMs = atMs;
    }
  }
});

test("each result answers its call, and only who waits for an answer leaves a call open", () => {
  for (const session of corpus) {
    const used = listIds(session, "agent.tool_use");
    const answered = listIds(session, "agent.tool_result");
    const isWaiting = session.label.signals.includes("waiting_for_answer");
    expect(used.length - answered.length, session.name).toBeLessThanOrEqual(1);
    expect(new Set(used).size, session.name).toBe(used.length);
    expect(answered, session.name).toEqual(isWaiting ? used.slice(0, answered.length) : used);
  }
});

test("a label says where the trouble begins, and a healthy session has none", () => {
  for (const { name, label, events } of corpus) {
    expect(label.is_healthy, name).toBe(label.signals.length === 0);
    if (label.is_healthy) expect(label.from_seq, name).toBeUndefined();
    else expect(events[(label.from_seq ?? 0) - 1], name).toBeDefined();
  }
});
