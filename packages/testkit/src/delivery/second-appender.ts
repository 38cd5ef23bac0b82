/** Another writer of the log, on a connection of its own, that may hold its transaction open and commit or roll it back later. */
import type { SandboxId } from "@drover/contract";
import { randomIds } from "../../../server/src/adapters/ids-random.ts";
import { appendEvents, draftSandboxEvent } from "../../../server/src/app/event-log.ts";
import type { Db } from "../../../server/src/ports/db.ts";
import { lockSandboxes } from "../../../server/src/store/sandboxes.ts";

export interface SecondAppender {
  /** Begins to append; the numbers are taken, and nothing is visible before `end`. One at a time. */
  begin(sandboxId: SandboxId, numbers: readonly number[]): void;
  end(how: "commit" | "roll back"): void;
  readonly done: Promise<void>;
  /** The numbers of what was committed. */
  readonly committed: readonly number[];
}

const clock = { now: () => new Date() };

class RolledBack extends Error {}

export function createSecondAppender(db: Db): SecondAppender {
  let last: Promise<void> = Promise.resolve();
  let release: ((how: "commit" | "roll back") => void) | undefined;
  const committed: number[] = [];

  const append = async (sandboxId: SandboxId, numbers: readonly number[], how: Promise<"commit" | "roll back">) => {
    await db.tx(async (tx) => {
      const [sandbox] = await lockSandboxes(tx, [sandboxId]);
      if (sandbox === undefined) throw new Error("no such sandbox");
      const drafts = numbers.map((n) =>
        draftSandboxEvent(randomIds, sandbox, { eventType: "agent.note", data: { n } }),
      );
      await appendEvents(tx, { ids: randomIds, clock: { ...clock, sleep: () => Promise.resolve() } }, drafts);
      if ((await how) === "roll back") throw new RolledBack("as the schedule says");
    });
    // No hint: whoever follows the log must find these without being told.
    committed.push(...numbers);
  };

  return {
    begin: (sandboxId, numbers) => {
      if (release !== undefined) return;
      const how = Promise.withResolvers<"commit" | "roll back">();
      release = how.resolve;
      last = last.then(() =>
        append(sandboxId, numbers, how.promise).catch((error: unknown) => {
          if (!(error instanceof RolledBack)) throw error;
        }),
      );
    },
    end: (how) => {
      release?.(how);
      release = undefined;
    },
    get done() {
      return last;
    },
    committed,
  };
}
