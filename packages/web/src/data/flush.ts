/** When to show what arrived: the next frame while little comes, ten times a second in a burst, five in a flood that nobody can read,
 *  less often when a commit is dear. */

const BURST_EVENTS = 6;
const BURST_WAIT_MS = 84;
const FLOOD_EVENTS = 50;
const FLOOD_WAIT_MS = 184;
const HIDDEN_WAIT_MS = 250;
const LONGEST_WAIT_MS = 250;
const FRAME_MS = 17;

export interface FlushPace {
  readonly schedule: (flush: () => void) => void;
  /** How many events the flush at hand brought. */
  readonly counted: (events: number) => void;
}

export function createFlushPace(): FlushPace {
  let lastCount = 0;
  let lastCostMs = 0;
  let lastEnd = 0;

  const run = (flush: () => void) => {
    const started = performance.now();
    lastCount = 0;
    flush();
    // React renders in a microtask of the flush; this one comes after it.
    queueMicrotask(() => {
      lastEnd = performance.now();
      lastCostMs = lastEnd - started;
    });
  };

  return {
    counted: (events) => {
      lastCount += events;
    },
    schedule: (flush) => {
      if (document.hidden) {
        setTimeout(() => run(flush), HIDDEN_WAIT_MS);
        return;
      }
      const rest = Math.min(LONGEST_WAIT_MS, lastCostMs * 4) - (performance.now() - lastEnd);
      const pauseMs = lastCount > FLOOD_EVENTS ? FLOOD_WAIT_MS : lastCount > BURST_EVENTS ? BURST_WAIT_MS : 0;
      const waitMs = Math.max(pauseMs, rest);
      // A hidden tab gets no frames, so a tab hidden meanwhile must not wait for one.
      const atFrame = () => (document.hidden ? run(flush) : void requestAnimationFrame(() => run(flush)));
      if (waitMs > FRAME_MS) setTimeout(atFrame, waitMs);
      else atFrame();
    },
  };
}
