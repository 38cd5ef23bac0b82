/** A terminal emulator while a component is shown; it follows the page's theme and the place it has. */
import { useEffect, useRef, type RefObject } from "react";
import { useAppearance } from "../data/preferences.ts";
import { openScreen, type Screen } from "./terminal-screen.ts";

interface ScreenUse {
  readonly size?: { readonly columns: number; readonly rows: number };
  /** Called once it is drawn. What it returns ends with it. */
  readonly onOpen: (screen: Screen) => () => void;
  readonly onFit?: (columns: number, rows: number) => void;
}

export function useScreen(use: ScreenUse): RefObject<HTMLDivElement | null> {
  const place = useRef<HTMLDivElement>(null);
  const latest = useRef(use);
  const shown = useRef<Screen>(undefined);
  const { isDark } = useAppearance();
  useEffect(() => {
    latest.current = use;
  });
  useEffect(() => shown.current?.paint(isDark), [isDark]);
  useEffect(() => {
    const element = place.current;
    if (element === null) return;
    let isGone = false;
    let end: (() => void) | undefined;
    const { size } = latest.current;
    const fit = () => {
      // Hidden for a while: a shell is not made as small as nothing.
      if (element.clientWidth === 0) return;
      const fitted = size === undefined ? shown.current?.fit() : undefined;
      if (fitted !== undefined) latest.current.onFit?.(fitted.columns, fitted.rows);
    };
    const observer = new ResizeObserver(fit);
    void openScreen({
      place: element,
      isDark: useAppearance.getState().isDark,
      ...(size === undefined ? {} : { size }),
    }).then((screen) => {
      if (isGone) return screen.close();
      shown.current = screen;
      fit();
      end = latest.current.onOpen(screen);
      observer.observe(element);
    });
    return () => {
      isGone = true;
      observer.disconnect();
      end?.();
      shown.current?.close();
      shown.current = undefined;
    };
  }, []);
  return place;
}
