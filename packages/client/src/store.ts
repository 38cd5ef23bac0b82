/** A value with subscribers, in the form that React's `useSyncExternalStore` takes. Runs only while somebody listens. */
import type { Timers } from "./timers.ts";

interface StoreOptions {
  readonly timers: Timers;
  /** Begins the work; the returned function ends it. */
  readonly start: () => () => void;
  /** How long the work outlives its last subscriber, so that a page change or a double mount does not begin anew. */
  readonly lingerMs: number;
}

export class Store<T> {
  private readonly options: StoreOptions;
  private readonly listeners = new Set<() => void>();
  private value: T;
  private stop: (() => void) | undefined;
  private cancelStop: () => void = () => {};

  constructor(value: T, options: StoreOptions) {
    this.value = value;
    this.options = options;
  }

  /** The same object until something changes. */
  readonly getSnapshot = (): T => this.value;

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    this.cancelStop();
    this.stop ??= this.options.start();
    return () => {
      this.listeners.delete(listener);
      if (this.listeners.size > 0) return;
      this.cancelStop = this.options.timers.after(this.options.lingerMs, () => {
        this.stop?.();
        this.stop = undefined;
      });
    };
  };

  set(value: T): void {
    if (Object.is(value, this.value)) return;
    this.value = value;
    for (const listener of this.listeners) listener();
  }
}
