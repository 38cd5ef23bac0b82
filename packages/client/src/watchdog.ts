/** Notices a connection that has fallen silent: asks first, and gives up when nothing answers. */
import type { Timers } from "./timers.ts";

interface WatchdogOptions {
  readonly timers: Timers;
  /** Silence after which to ask. The server pings after 30 s, so 40 s means that one was missed. */
  readonly quietMs: number;
  /** How long an answer may take. */
  readonly graceMs: number;
  readonly onQuiet: () => void;
  readonly onDead: () => void;
}

export interface Watchdog {
  /** Something arrived. */
  heard(): void;
  /** Ask at once, as after a laptop woke. */
  ask(): void;
  stop(): void;
}

export function startWatchdog(options: WatchdogOptions): Watchdog {
  const { timers, quietMs, graceMs } = options;
  let heardAt = timers.now();
  let askedAt: number | undefined;
  let cancel = timers.after(quietMs, check);

  function arm(ms: number) {
    cancel();
    cancel = timers.after(ms, check);
  }
  function ask() {
    askedAt = timers.now();
    options.onQuiet();
    arm(graceMs);
  }
  function check() {
    if (askedAt !== undefined && heardAt < askedAt) return options.onDead();
    askedAt = undefined;
    const left = heardAt + quietMs - timers.now();
    if (left > 0) arm(left);
    else ask();
  }
  return {
    heard: () => {
      heardAt = Math.max(timers.now(), askedAt ?? 0);
    },
    ask,
    stop: () => cancel(),
  };
}
