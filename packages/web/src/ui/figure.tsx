/** A figure and what it counts, in a list of such. */
import type { ReactNode } from "react";

export function Figure({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div className="flex items-baseline gap-1">
      <dt>{name}</dt>
      <dd className="font-semibold text-ink-2">{children}</dd>
    </div>
  );
}
