/** A worker that beats and does nothing: idle, or stuck where the server has seen enough to say so. */
import type { Sandbox } from "@drover/contract";
import { CircleHelp, Moon } from "lucide-react";
import { cx } from "./class-names.ts";

const LOOKS = {
  idle: { icon: Moon, look: "text-ink-3", title: "It beats, and has done nothing for a while" },
  stuck: {
    icon: CircleHelp,
    look: "text-wait-ink",
    title: "It beats, and has done nothing for so long that it looks stuck",
  },
} as const;

export function QuietMark({ state, health }: Pick<Sandbox, "state" | "health">) {
  if (state !== "running" || (health !== "idle" && health !== "stuck")) return null;
  const { icon: Icon, look, title } = LOOKS[health];
  return (
    <span
      title={title}
      data-health={health}
      className={cx("inline-flex items-center gap-1 text-xs font-medium whitespace-nowrap", look)}
    >
      <Icon size={13} aria-hidden /> {health}
    </span>
  );
}
