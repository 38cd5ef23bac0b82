/** A line of the list beside a terminal. */
import type { ReactNode } from "react";
import { cx } from "../ui/class-names.ts";

interface TerminalEntryProps {
  readonly isHere: boolean;
  readonly onClick: () => void;
  readonly children: ReactNode;
}

export const TerminalEntry = ({ isHere, onClick, children }: TerminalEntryProps) => (
  <button
    type="button"
    aria-current={isHere ? "true" : undefined}
    onClick={onClick}
    className={cx(
      "flex min-h-9 w-full items-center gap-2 px-4 text-left text-xs focus-visible:-outline-offset-2 max-md:min-h-11",
      isHere ? "bg-live-soft font-medium text-live-ink" : "text-ink-2 hover:bg-hover",
    )}
  >
    {children}
  </button>
);
