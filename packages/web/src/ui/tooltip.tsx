/** A label for what has only an icon, with the key that does the same. Small on purpose: it is in the page's first load. */
import { useEffect, useRef, useState, type ReactNode } from "react";
import { createPortal } from "react-dom";
import { Kbd } from "./kbd.tsx";
import type { ActionName } from "../app/actions.ts";

const WAIT_MS = 350;
const GAP = 6;

interface TooltipProps {
  readonly label: ReactNode;
  readonly action?: ActionName;
  readonly side?: "right" | "bottom";
  readonly children: ReactNode;
}

interface Place {
  readonly left: number;
  readonly top: number;
}

export function Tooltip({ label, action, side = "bottom", children }: TooltipProps) {
  const around = useRef<HTMLSpanElement>(null);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const [place, setPlace] = useState<Place>();
  const show = () => {
    const box = around.current?.firstElementChild?.getBoundingClientRect();
    if (box === undefined) return;
    setPlace(
      side === "right"
        ? { left: box.right + GAP, top: box.top + box.height / 2 }
        : { left: Math.min(box.left + box.width / 2, innerWidth - 80), top: box.bottom + GAP },
    );
  };
  const hide = () => {
    clearTimeout(timer.current);
    setPlace(undefined);
  };
  useEffect(() => () => clearTimeout(timer.current), []);
  return (
    <span
      ref={around}
      className="contents"
      onPointerEnter={(event) => {
        if (event.pointerType === "mouse") timer.current = setTimeout(show, WAIT_MS);
      }}
      onPointerLeave={hide}
      onPointerDown={hide}
      onFocus={(event) => event.target.matches(":focus-visible") && show()}
      onBlur={hide}
      onKeyDown={(event) => event.key === "Escape" && hide()}
    >
      {children}
      {place !== undefined &&
        createPortal(
          // The element itself carries its name; this is for eyes only.
          <div
            aria-hidden
            style={place}
            className={`pointer-events-none fixed z-50 ${side === "right" ? "-translate-y-1/2" : "-translate-x-1/2"}`}
          >
            <div className="flex animate-enter items-center gap-2 rounded-md bg-solid px-2 py-1 text-xs font-medium whitespace-nowrap text-on-solid shadow-lift">
              {label}
              {action !== undefined && <Kbd action={action} />}
            </div>
          </div>,
          document.body,
        )}
    </span>
  );
}
