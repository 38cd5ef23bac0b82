/** A canvas that is drawn anew whenever what it shows changes, or its size. */
import { useEffect, useRef, type RefObject } from "react";

export function useDrawing<V>(
  draw: (canvas: HTMLCanvasElement, view: V) => void,
  view: V,
): { readonly canvas: RefObject<HTMLCanvasElement | null>; readonly latest: RefObject<V> } {
  const canvas = useRef<HTMLCanvasElement>(null);
  const latest = useRef(view);
  useEffect(() => {
    latest.current = view;
    if (canvas.current !== null) draw(canvas.current, view);
  });
  useEffect(() => {
    const element = canvas.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => draw(element, latest.current));
    observer.observe(element);
    return () => observer.disconnect();
  }, [draw]);
  return { canvas, latest };
}
