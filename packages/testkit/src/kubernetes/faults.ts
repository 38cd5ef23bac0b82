/** What a test lets go wrong at the emulator. */
import type { WebSocket } from "ws";

export interface Fault {
  readonly method: string;
  readonly path: RegExp;
  /** "reset": the connection ends without an answer. */
  readonly status: number | "reset";
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Faults {
  /** Instead of the next request that fits, once. */
  next(fault: Fault): void;
  /** Pods wait to be started until the returned function is called. */
  holdStart(): () => void;
  /** Pods are removed only when the returned function is called: their node does not answer. */
  holdRemoval(): () => void;
  /** The next pod finds no node. */
  unschedulable(message: string): void;
  /** The next connection to a command is cut without a word, as soon as it carried this many bytes out. */
  cutStream(afterBytes: number): void;
}

/** What the emulator asks before it does something. */
export interface FaultPlan extends Faults {
  take(method: string, path: string): Fault | undefined;
  takeUnschedulable(): string | undefined;
  startAllowed(): Promise<void>;
  removalAllowed(): Promise<void>;
  watch(socket: WebSocket): (bytes: number) => void;
}

export function planFaults(): FaultPlan {
  const faults: Fault[] = [];
  const unplaced: string[] = [];
  const cuts: number[] = [];
  const allowed = { start: Promise.resolve(), removal: Promise.resolve() };
  const hold = (what: "start" | "removal") => {
    const gate = Promise.withResolvers<void>();
    allowed[what] = gate.promise;
    return gate.resolve;
  };
  return {
    next: (fault) => void faults.push(fault),
    holdStart: () => hold("start"),
    holdRemoval: () => hold("removal"),
    unschedulable: (message) => void unplaced.push(message),
    cutStream: (afterBytes) => void cuts.push(afterBytes),
    take: (method, path) => {
      const index = faults.findIndex((fault) => fault.method === method && fault.path.test(path));
      return index < 0 ? undefined : faults.splice(index, 1)[0];
    },
    takeUnschedulable: () => unplaced.shift(),
    startAllowed: () => allowed.start,
    removalAllowed: () => allowed.removal,
    watch: (socket) => {
      const limit = cuts.shift();
      let sent = 0;
      return (bytes) => {
        sent += bytes;
        if (limit !== undefined && sent >= limit) socket.terminate();
      };
    },
  };
}
