/** A sandbox's state: icon and word, never colour alone. */
import type { SandboxState } from "@drover/contract";
import {
  Ban,
  CircleCheck,
  CircleDashed,
  CirclePause,
  CircleStop,
  CircleX,
  Flag,
  LoaderCircle,
  Play,
  type LucideIcon,
} from "lucide-react";
import { cx } from "./class-names.ts";

const LOOKS: Readonly<
  Record<SandboxState, { readonly icon: LucideIcon; readonly look: string; readonly isTurning?: true }>
> = {
  pending: { icon: CircleDashed, look: "bg-sunken text-ink-2" },
  creating: { icon: LoaderCircle, look: "bg-wait-soft text-wait-ink", isTurning: true },
  running: { icon: Play, look: "bg-live-soft text-live-ink" },
  paused: { icon: CirclePause, look: "bg-wait-soft text-wait-ink" },
  completing: { icon: Flag, look: "bg-live-soft text-live-ink" },
  completed: { icon: CircleCheck, look: "bg-done-soft text-done-ink" },
  cancelled: { icon: Ban, look: "bg-sunken text-ink-2" },
  failed: { icon: CircleX, look: "bg-fail-soft text-fail-ink" },
  terminated: { icon: CircleStop, look: "bg-sunken text-ink-2" },
};

export function StateBadge({ state, className }: { readonly state: SandboxState; readonly className?: string }) {
  const { icon: Icon, look, isTurning } = LOOKS[state];
  return (
    <span
      data-state={state}
      className={cx(
        "inline-flex h-6 shrink-0 items-center gap-1.5 rounded-full pr-2.5 pl-2 text-xs font-semibold",
        look,
        className,
      )}
    >
      <Icon
        size={13}
        strokeWidth={2.4}
        aria-hidden
        className={cx(isTurning && "animate-spin", state === "running" && "fill-current")}
      />
      {state}
    </span>
  );
}
