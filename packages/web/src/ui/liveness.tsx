/** Whether the agent's worker beats: by the age of its last heartbeat. */
import type { SandboxState } from "@drover/contract";
import { toLiveness, type Liveness as Beat } from "@drover/contract/views";
import { HeartPulse, HeartCrack, HeartOff, Heart } from "lucide-react";
import { formatAge } from "../data/format.ts";
import { useNow } from "../data/now.ts";
import { cx } from "./class-names.ts";

const LOOKS = {
  none: { icon: Heart, word: "no heartbeat yet", look: "text-ink-3" },
  fresh: { icon: HeartPulse, word: "beating", look: "text-live-ink" },
  late: { icon: HeartCrack, word: "late", look: "text-wait-ink" },
  lost: { icon: HeartOff, word: "lost", look: "text-fail-ink" },
} as const satisfies Record<Beat, unknown>;

/** Nobody is there to beat, or nobody can: a paused worker is silent and well. */
const SILENT: ReadonlySet<SandboxState> = new Set(["cancelled", "failed", "terminated", "completed", "paused"]);

export function Liveness({ state, lastAt }: { readonly state: SandboxState; readonly lastAt: string | null }) {
  const now = useNow();
  if (SILENT.has(state)) return null;
  const beat = toLiveness(lastAt, now);
  const { icon: Icon, word, look } = LOOKS[beat];
  const age = lastAt === null ? "" : formatAge(now - Date.parse(lastAt));
  return (
    <span
      className={cx("inline-flex items-center gap-1 text-xs tabular-nums", look)}
      title={`Heartbeat: ${word}${age === "" ? "" : `, ${age} ago`}`}
    >
      <Icon size={13} aria-hidden />
      <span className="sr-only">Heartbeat </span>
      {lastAt === null ? "waiting" : beat === "fresh" ? age : `${word} ${age}`}
    </span>
  );
}
