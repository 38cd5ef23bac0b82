/** A short notice in a corner, with a way back where there is one. The library comes with the first one. */
const UNDO_MS = 10_000;

type Undo = () => void;
let last: { readonly undo: Undo; readonly until: number } | undefined;

function takeBack(): void {
  const taken = last;
  last = undefined;
  if (taken !== undefined && taken.until > Date.now()) taken.undo();
}

export const notify = {
  good: (text: string): void => void import("sonner").then(({ toast }) => toast.success(text)),
  bad: (text: string): void => void import("sonner").then(({ toast }) => toast.error(text)),
  /** Said of what was done at once and can be taken back, by the button or by the key, for ten seconds. */
  undoable: (text: string, undo: Undo): void => {
    const own = { undo, until: Date.now() + UNDO_MS };
    last = own;
    void import("sonner").then(({ toast }) => {
      const act = () => {
        if (last === own) last = undefined;
        undo();
      };
      toast(text, { duration: UNDO_MS, action: { label: "Undo", onClick: act } });
    });
  },
  /** Takes the last one back, if it is not too late. */
  undoLast: (): void => {
    if (last !== undefined) void import("sonner").then(({ toast }) => toast.dismiss());
    takeBack();
  },
};
