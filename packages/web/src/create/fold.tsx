/** A part of the form, folded until something in it was chosen or refused. */
import { ChevronRight } from "lucide-react";
import { useState, type ReactNode } from "react";
import type { Complaints, Draft, Part } from "./draft.ts";

interface FoldProps {
  readonly title: string;
  readonly parts: readonly Part[];
  readonly draft: Draft;
  readonly complaints: Complaints;
  readonly children: ReactNode;
}

export function Fold({ title, parts, draft, complaints, children }: FoldProps) {
  const chosen = parts.filter((part) => draft[part] !== "").length;
  const [isOpen, setOpen] = useState(chosen > 0);
  const mustOpen = parts.some((part) => complaints[part] !== undefined);
  return (
    <details
      open={isOpen || mustOpen}
      onToggle={(event) => setOpen(event.currentTarget.open)}
      className="group rounded-xl border border-line bg-surface"
    >
      <summary className="flex h-11 cursor-pointer list-none items-center gap-2 rounded-xl px-4 text-sm font-medium">
        <ChevronRight size={15} aria-hidden className="text-ink-3 transition-transform group-open:rotate-90" />
        {title}
        <span className="ml-auto text-xs font-normal text-ink-3">
          {chosen === 0 ? "as configured" : `${chosen} set`}
        </span>
      </summary>
      <div className="grid gap-4 px-4 pt-1 pb-4 sm:grid-cols-2 lg:grid-cols-3">{children}</div>
    </details>
  );
}
