/** A dialog without a button of its own gives the focus back to whatever had it, and at first to what is marked for it. */
import { useRef } from "react";

export function useFocusReturn() {
  const opener = useRef<Element | null>(null);
  return {
    onOpenAutoFocus: (event: Event) => {
      opener.current = document.activeElement;
      const first =
        event.target instanceof HTMLElement ? event.target.querySelector<HTMLElement>("[data-focus-first]") : null;
      if (first === null) return;
      event.preventDefault();
      first.focus();
    },
    onCloseAutoFocus: (event: Event) => {
      event.preventDefault();
      if (opener.current instanceof HTMLElement) opener.current.focus();
    },
  };
}
