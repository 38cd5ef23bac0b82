/** Buses of several replicas over a network that loses, doubles and delays hints, as the port allows. */
import type { Bus } from "../../../server/src/ports/bus.ts";
import type { Gate } from "./gate.ts";

export type HintFate = "pass" | "lose" | "twice" | "late";

export interface LossyNetwork {
  join(): Bus;
  /** All hints arrive from now on. */
  heal(): void;
}

/** `fates` are used in turn and again from the start, one per hint and listener. */
export function createLossyNetwork(fates: readonly HintFate[], gate: Gate): LossyNetwork {
  const listeners = new Set<() => void>();
  let next = 0;
  let isHealed = false;
  const carry = (listener: () => void) => {
    const fate = isHealed ? "pass" : (fates[next++ % fates.length] ?? "pass");
    if (fate === "lose") return;
    // Two that are late overtake one another: each waits for its own number of ticks.
    if (fate === "late") return void gate.pass().then(listener);
    listener();
    if (fate === "twice") listener();
  };
  return {
    join: () => ({
      publish: () => {
        for (const listener of listeners) carry(listener);
      },
      onHint: (listener) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
      isUp: () => true,
      close: async () => undefined,
    }),
    heal: () => {
      isHealed = true;
    },
  };
}
