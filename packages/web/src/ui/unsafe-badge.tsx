/** A sandbox that nothing isolates says so, wherever it is shown. */
import type { Sandbox } from "@drover/contract";
import { ShieldOff } from "lucide-react";

export function UnsafeBadge({ enforcedBy }: { readonly enforcedBy: Sandbox["enforced_by"] }) {
  if (enforcedBy?.["isolation"] !== "unsafe") return null;
  return (
    <span
      title="Nothing isolates this sandbox: its agent can read this machine's files and reach its network."
      className="inline-flex h-6 shrink-0 items-center gap-1.5 rounded-full bg-fail-soft pr-2.5 pl-2 text-xs font-semibold text-fail-ink"
    >
      <ShieldOff size={13} strokeWidth={2.4} aria-hidden />
      isolation: unsafe
    </span>
  );
}
