import { SandboxState } from "@drover/contract";
import fc from "fast-check";
import { expect, test } from "vitest";
import { foldFacts, foldState, type SandboxFacts } from "./project-event.ts";

const START: SandboxFacts = {
  state: "pending",
  state_cause: null,
  started_at: null,
  ended_at: null,
  last_sandbox_seq: 0,
  last_event_type: null,
  last_event_at: null,
  turn: 0,
  heartbeat_count: 0,
  first_heartbeat_at: null,
  last_heartbeat_at: null,
  last_contact_at: null,
};
const Observed = fc.record({
  eventType: fc.constantFrom("agent.message", "agent.heartbeat", "heartbeat", "spec.heartbeat"),
  turn: fc.option(fc.nat(100)),
  at: fc.date({ noInvalidDate: true }),
  isFromWorker: fc.boolean(),
});

test("numbers count every event once, turns never go back, and heartbeats are told apart", () => {
  fc.assert(
    fc.property(fc.array(Observed), (events) => {
      const facts = events.reduce((so, event) => foldFacts(so, event), START);
      const beats = events.filter((event) => event.eventType.endsWith("heartbeat"));
      const others = events.filter((event) => !event.eventType.endsWith("heartbeat"));
      expect(facts.last_sandbox_seq).toBe(events.length);
      expect(facts.turn).toBe(Math.max(0, ...events.map((event) => event.turn ?? 0)));
      expect(facts.heartbeat_count).toBe(beats.length);
      expect(facts.first_heartbeat_at).toBe(beats[0]?.at ?? null);
      expect(facts.last_heartbeat_at).toBe(beats.at(-1)?.at ?? null);
      expect(facts.last_event_at).toBe(others.at(-1)?.at ?? null);
      expect(facts.last_contact_at).toBe(events.findLast((event) => event.isFromWorker)?.at ?? null);
    }),
  );
});

test("started_at is the first time it ran, ended_at the time it last came to an end", () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...SandboxState.options)), (states) => {
      const at = (index: number) => new Date(index * 1_000);
      const facts = states.reduce((so, state, index) => foldState(so, state, "test", at(index)), START);
      const ends = new Set<SandboxState>(["completed", "cancelled", "failed", "terminated"]);
      const firstRun = states.indexOf("running");
      expect(facts.started_at).toEqual(firstRun === -1 ? null : at(firstRun));
      const lastAlive = states.findLastIndex((state) => !ends.has(state));
      expect(facts.ended_at).toEqual(states.length > 0 && ends.has(states.at(-1)!) ? at(lastAlive + 1) : null);
    }),
  );
});
