/** A titled block of settings. */
import type { ReactNode } from "react";

export function Section({
  title,
  action,
  children,
}: {
  readonly title: string;
  readonly action?: ReactNode;
  readonly children: ReactNode;
}) {
  return (
    <section>
      <div className="mb-2 flex min-h-7 flex-wrap items-center justify-between gap-x-4 gap-y-2">
        <h2 className="font-semibold tracking-tight">{title}</h2>
        {action}
      </div>
      <div className="divide-y divide-line rounded-2xl border border-line bg-surface">{children}</div>
    </section>
  );
}
