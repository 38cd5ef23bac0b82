/** How a person reads patches, and which changed files they have been through; kept in this browser. */
import { create } from "zustand";
import { persist } from "zustand/middleware";

interface DiffLook {
  readonly isSplit: boolean;
  readonly isWrapped: boolean;
  readonly hidesBlanks: boolean;
  /** By sandbox and path: what the file looked like when it was ticked off. */
  readonly viewed: Readonly<Record<string, string>>;
}

const KEPT = 1_000;

export const useDiffLook = create<DiffLook>()(
  persist((): DiffLook => ({ isSplit: false, isWrapped: true, hidesBlanks: false, viewed: {} }), {
    name: "drover.diffs",
  }),
);

const toKey = (sandboxId: string, path: string) => `${sandboxId} ${path}`;

export const isViewed = (viewed: DiffLook["viewed"], sandboxId: string, path: string, sign: string): boolean =>
  viewed[toKey(sandboxId, path)] === sign;

/** A file that changes again has another sign, and is no longer viewed. */
export const setViewed = (sandboxId: string, path: string, sign: string | undefined): void => {
  useDiffLook.setState(({ viewed: { [toKey(sandboxId, path)]: _, ...others } }) => ({
    viewed:
      sign === undefined
        ? others
        : Object.fromEntries([...Object.entries(others), [toKey(sandboxId, path), sign] as const].slice(-KEPT)),
  }));
};
