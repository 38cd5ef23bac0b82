/** A figure that leads to the list behind it. */
import type { ReactNode } from "react";
import { cx } from "../ui/class-names.ts";

interface BigFigureProps {
  readonly name: string;
  readonly value: string;
  readonly isAlarm?: boolean;
  readonly link: (children: ReactNode, className: string) => ReactNode;
}

export const BigFigure = ({ name, value, isAlarm = false, link }: BigFigureProps): ReactNode =>
  link(
    <>
      <span className={cx("text-2xl font-semibold tracking-tight tabular-nums", isAlarm && "text-wait-ink")}>
        {value}
      </span>
      <span className="text-xs text-ink-3">{name}</span>
    </>,
    "flex flex-col rounded-2xl border border-line bg-surface px-4 py-3 hover:border-line-strong",
  );
