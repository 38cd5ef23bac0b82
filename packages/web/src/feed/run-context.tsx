/** What the rows of a run share: which run, which rows are open, which one is selected. */
import { createContext, useContext, useSyncExternalStore } from "react";

/** Rows leave the page while they are scrolled away; what a person opened stays open. */
export class Openness {
  private readonly changed = new Map<number, boolean>();
  /** For all that nobody opened or folded since. */
  private all: boolean | undefined;
  private readonly listeners = new Set<() => void>();

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  };

  isOpen(seq: number, byDefault: boolean): boolean {
    return this.changed.get(seq) ?? this.all ?? byDefault;
  }

  set(seq: number, isOpen: boolean): void {
    this.changed.set(seq, isOpen);
    for (const listener of this.listeners) listener();
  }

  toggleAll(): void {
    this.all = this.all !== true;
    this.changed.clear();
    for (const listener of this.listeners) listener();
  }
}

export interface RunContextValue {
  readonly sandboxId: string;
  readonly openness: Openness;
  /** This person may answer, and somebody is there to hear it. */
  readonly mayAnswer: boolean;
  readonly onFullDiff: (seq: number, at: number) => void;
  readonly onCopyLink: (seq: number) => void;
  /** Puts a question into the message box; absent where there is none. */
  readonly onAsk?: (text: string) => void;
  /** Shows a file as it is now; absent where another time or nothing of it is shown. */
  readonly onOpenFile?: (path: string) => void;
  /** Absent where the replay itself is shown. */
  readonly onReplay?: (seq: number) => void;
}

export const RunContext = createContext<RunContextValue | undefined>(undefined);

export function useRunContext(): RunContextValue {
  const value = useContext(RunContext);
  if (value === undefined) throw new Error("A row stands outside of its run.");
  return value;
}

export function useOpen(seq: number, byDefault = false): readonly [boolean, () => void] {
  const { openness } = useRunContext();
  const isOpen = useSyncExternalStore(openness.subscribe, () => openness.isOpen(seq, byDefault));
  return [isOpen, () => openness.set(seq, !isOpen)];
}
