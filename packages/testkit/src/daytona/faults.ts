/** What a test lets go wrong at the emulator. */
import type { Socket } from "node:net";

export interface Fault {
  readonly method: string;
  /** Of the whole path, with `/api` or `/toolbox/<id>` in front. */
  readonly path: RegExp;
  /** "reset": the connection ends without an answer. */
  readonly status: number | "reset";
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Faults {
  /** Instead of the next request that fits, once. */
  next(fault: Fault): void;
  /** Sandboxes stay in creation until the returned function is called. */
  holdCreation(): () => void;
  /** What becomes of the next sandbox instead of running. */
  failCreation(state: "error" | "build_failed", errorReason: string): void;
  /** Cuts each of the next streams without a word, as soon as it carried this many bytes. */
  cutStreams(...afterBytes: readonly number[]): void;
}

/** What the emulator asks before it does something. */
export interface FaultPlan extends Faults {
  take(method: string, path: string): Fault | undefined;
  takeFailure(): { readonly state: "error" | "build_failed"; readonly errorReason: string } | undefined;
  /** Resolves at once when nothing is held. */
  creationAllowed(): Promise<void>;
  watchStream(client: Socket): void;
}

export function planFaults(): FaultPlan {
  const faults: Fault[] = [];
  const failures: { state: "error" | "build_failed"; errorReason: string }[] = [];
  const cuts: number[] = [];
  let allowed = Promise.resolve();
  return {
    next: (fault) => void faults.push(fault),
    holdCreation: () => {
      const gate = Promise.withResolvers<void>();
      allowed = gate.promise;
      return gate.resolve;
    },
    failCreation: (state, errorReason) => void failures.push({ state, errorReason }),
    cutStreams: (...afterBytes) => void cuts.push(...afterBytes),
    take: (method, path) => {
      const index = faults.findIndex((fault) => fault.method === method && fault.path.test(path));
      return index < 0 ? undefined : faults.splice(index, 1)[0];
    },
    takeFailure: () => failures.shift(),
    creationAllowed: () => allowed,
    watchStream: (client) => {
      const limit = cuts.shift();
      if (limit === undefined) return;
      const timer = setInterval(() => {
        if (client.bytesWritten >= limit) client.destroy();
      }, 5);
      client.once("close", () => clearInterval(timer));
    },
  };
}
