/** Messages on their way into an agent: interrupts first, then those that steer the turn, then those that wait for its end. */
import type { InboxMessage } from "@drover/contract";

export interface Mailbox {
  put(message: InboxMessage): void;
  takeInterrupt(): InboxMessage | undefined;
  /** The oldest message; those sent with `delivery: "queue"` only when `isBetweenTurns`. */
  take(isBetweenTurns: boolean): InboxMessage | undefined;
  hasInterrupt(): boolean;
  /** A signal that is aborted when something that `take` would give, or an interrupt, arrives or is there. */
  arrival(isBetweenTurns: boolean): AbortSignal;
  /** A signal that is aborted when an interrupt arrives or is there. */
  interruption(): AbortSignal;
}

interface Watch {
  readonly isMet: () => boolean;
  readonly controller: AbortController;
}

export function createMailbox(): Mailbox {
  const interrupts: InboxMessage[] = [];
  const messages: InboxMessage[] = [];
  let watches: Watch[] = [];

  const check = () => {
    watches = watches.filter(({ isMet, controller }) => {
      if (!isMet()) return true;
      controller.abort();
      return false;
    });
  };
  const watch = (isMet: () => boolean) => {
    const controller = new AbortController();
    watches.push({ isMet, controller });
    check();
    // Of watches that nobody waits for any more only a few are kept: each step makes one.
    if (watches.length > 16) watches.shift();
    return controller.signal;
  };
  const find = (isBetweenTurns: boolean) =>
    messages.findIndex((message) => isBetweenTurns || message.delivery !== "queue");

  return {
    put(message) {
      (message.message_type === "interrupt" ? interrupts : messages).push(message);
      check();
    },
    takeInterrupt: () => interrupts.shift(),
    take(isBetweenTurns) {
      const index = find(isBetweenTurns);
      return index === -1 ? undefined : messages.splice(index, 1)[0];
    },
    hasInterrupt: () => interrupts.length > 0,
    arrival: (isBetweenTurns) => watch(() => interrupts.length > 0 || find(isBetweenTurns) !== -1),
    interruption: () => watch(() => interrupts.length > 0),
  };
}
