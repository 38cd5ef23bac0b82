/** Nothing is here: why, and what would change it. */
import type { ReactNode } from "react";

interface EmptyProps {
  readonly title: string;
  readonly action?: ReactNode;
  readonly children?: ReactNode;
}

export function Empty({ title, action, children }: EmptyProps) {
  return (
    <div className="flex flex-col items-center gap-2 px-6 py-10 text-center">
      <p className="text-sm font-medium">{title}</p>
      {children !== undefined && <p className="max-w-md text-sm text-ink-3 text-pretty">{children}</p>}
      {action}
    </div>
  );
}
