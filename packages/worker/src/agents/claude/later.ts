/** Work that lets the agent send its request first: on few processors seven processes of Git beside it make every request late. */

/** A request leaves 20 to 60 ms after its tool has ended. */
const HEAD_START_MS = 100;

export interface Later {
  /** Begins the work after the head start, or as soon as somebody waits for it. */
  do<T>(work: () => Promise<T>): Promise<T>;
  /** From now on it is waited for: what has not begun begins. Resolves when all of it is done or has failed. */
  all(): Promise<unknown>;
}

export function createLater(headStartMs: number = HEAD_START_MS): Later {
  const held = new Set<() => void>();
  const underWay = new Set<Promise<unknown>>();
  const headStart = () =>
    new Promise<void>((resolve) => {
      const begin = () => {
        clearTimeout(timer);
        held.delete(begin);
        resolve();
      };
      const timer = setTimeout(begin, headStartMs);
      held.add(begin);
    });
  return {
    do: (work) => {
      const done = headStart().then(work);
      underWay.add(done);
      const forget = () => void underWay.delete(done);
      done.then(forget, forget);
      return done;
    },
    all: () => {
      for (const begin of held) begin();
      return Promise.allSettled(underWay);
    },
  };
}
