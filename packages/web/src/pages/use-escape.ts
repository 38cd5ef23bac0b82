/** Escape on a page. Not an action of the table: whoever holds `close` there may be above or below this page. */
import { useEffect, useRef } from "react";

/** Called while `isWanted`, unless a field or a dialog has a use for the key itself. */
export function useEscape(isWanted: boolean, onEscape: () => void): void {
  const latest = useRef(onEscape);
  useEffect(() => {
    latest.current = onEscape;
  });
  useEffect(() => {
    if (!isWanted) return undefined;
    const listen = ({ key, target }: KeyboardEvent) => {
      const isInField =
        target instanceof Element && target.matches("textarea, input:not([type=checkbox]), [popover] *");
      const isBehind = document.querySelector("[role=dialog]:not([popover]), [role=alertdialog]") !== null;
      if (key === "Escape" && !isInField && !isBehind) latest.current();
    };
    document.addEventListener("keydown", listen);
    return () => document.removeEventListener("keydown", listen);
  }, [isWanted]);
}
