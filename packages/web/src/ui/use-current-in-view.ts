/** Links in a row that a phone is too narrow for: the one that is open is seen. */
import { useEffect, useRef, type RefObject } from "react";

/** `row`: what is open, and whatever else changes the row. */
export function useCurrentInView(row: string): RefObject<HTMLElement | null> {
  const element = useRef<HTMLElement>(null);
  useEffect(() => {
    const links = element.current;
    const current = links?.querySelector("[aria-current=page]");
    if (links === null || current === null || current === undefined) return;
    const [outer, inner] = [links.getBoundingClientRect(), current.getBoundingClientRect()];
    // Only to the side: the page around it stays where it is.
    links.scrollLeft += inner.left + inner.width / 2 - (outer.left + outer.width / 2);
  }, [row]);
  return element;
}
