/** A figure and what it counts, in a list of such. */
import type { ReactNode } from "react";
import { cx } from "./class-names.ts";

interface FigureProps {
  readonly name: string;
  /** Where there is little room others are worth it more. */
  readonly isMinor?: boolean;
  readonly children: ReactNode;
}

export function Figure({ name, isMinor = false, children }: FigureProps) {
  return (
    <div className={cx("flex min-w-0 items-baseline gap-1", isMinor && "max-md:hidden")}>
      <dt>{name}</dt>
      <dd className="min-w-0 font-semibold text-ink-2">{children}</dd>
    </div>
  );
}
