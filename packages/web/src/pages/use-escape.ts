/** Escape on a page. Not an action of the table: whoever holds `close` there may be above or below this page. */
import { useEffect, useRef } from "react";

const DIALOG = "[role=dialog]:not([popover]), [role=alertdialog]";
const FIELD = "textarea, input:not([type=checkbox]), [popover] *";

/** Called while `isWanted`, unless a field or a dialog has a use for the key itself. */
export function useEscape(isWanted: boolean, onEscape: () => void): void {
  const latest = useRef(onEscape);
  useEffect(() => {
    latest.current = onEscape;
  });
  useEffect(() => {
    if (!isWanted) return undefined;
    const listen = ({ key, target }: KeyboardEvent) => {
      // A dialog that this very key closed is gone by now; what had the focus still knows that it was in one.
      const isTaken =
        document.querySelector(DIALOG) !== null ||
        (target instanceof Element && (target.matches(FIELD) || target.closest(DIALOG) !== null));
      if (key === "Escape" && !isTaken) latest.current();
    };
    document.addEventListener("keydown", listen);
    return () => document.removeEventListener("keydown", listen);
  }, [isWanted]);
}
