/** Rows of the run itself: beginning, end, errors, supervision, and the quiet lines. */
import type {
  ErrorRow,
  GuardianRow,
  HeartbeatsRow,
  LifecycleRow,
  Tone,
  UnknownRow,
  UsageRow,
} from "@drover/contract/views";
import {
  Braces,
  CircleCheck,
  Coins,
  Flag,
  HeartPulse,
  Hourglass,
  OctagonX,
  ShieldCheck,
  TriangleAlert,
  Zap,
} from "lucide-react";
import { formatCost, formatCount, formatSpan, plural } from "../../data/format.ts";
import { cx } from "../../ui/class-names.ts";
import { Json } from "../json.tsx";
import { RowFrame, RowToggle } from "../row-frame.tsx";
import { useOpen } from "../run-context.tsx";

const TONES: Readonly<Record<Tone, { readonly icon: typeof Flag; readonly look: string }>> = {
  quiet: { icon: Flag, look: "text-ink-3" },
  busy: { icon: Zap, look: "text-live-ink" },
  good: { icon: CircleCheck, look: "text-done-ink" },
  warn: { icon: Hourglass, look: "text-wait-ink" },
  bad: { icon: OctagonX, look: "text-fail-ink" },
};

export function Lifecycle({ row }: { readonly row: LifecycleRow }) {
  const { icon, look } = TONES[row.tone];
  return (
    <RowFrame row={row} icon={icon} tone={look} isQuiet={row.tone === "quiet"}>
      <p className="flex min-h-6 flex-wrap items-center gap-x-2 text-sm">
        <span className={cx(row.tone === "quiet" ? "text-ink-2" : "font-semibold", look !== "text-ink-3" && look)}>
          {row.title}
        </span>
        {row.detail !== null && <span className="min-w-0 text-ink-3 break-words">{row.detail}</span>}
      </p>
    </RowFrame>
  );
}

export function RunError({ row }: { readonly row: ErrorRow }) {
  return (
    <RowFrame row={row} icon={TriangleAlert} tone="text-fail-ink">
      <div className="max-w-[46rem] rounded-lg border border-fail/35 bg-fail-soft px-3.5 py-2.5 text-fail-ink">
        <p className="text-sm font-semibold">{row.title}</p>
        {row.detail !== "" && (
          <p className="mt-0.5 max-h-64 overflow-auto font-mono text-xs break-words whitespace-pre-wrap">
            {row.detail}
          </p>
        )}
      </div>
    </RowFrame>
  );
}

export function Guardian({ row }: { readonly row: GuardianRow }) {
  const [isOpen, toggle] = useOpen(row.seq);
  return (
    <RowFrame row={row} icon={ShieldCheck} tone="text-mind">
      <RowToggle isOpen={isOpen} onToggle={toggle}>
        <span className="font-semibold text-mind">Guardian</span>
        <span className="shrink-0 text-ink-2">{row.title}</span>
        <span className="truncate text-ink-3">{row.text}</span>
      </RowToggle>
      {isOpen && <Json value={row.data} label="What the guardian wrote" />}
    </RowFrame>
  );
}

export function Heartbeats({ row }: { readonly row: HeartbeatsRow }) {
  const spanMs = Date.parse(row.lastAt) - Date.parse(row.at);
  return (
    <RowFrame row={row} icon={HeartPulse} isQuiet>
      <p className="flex min-h-6 items-center text-xs text-ink-3 tabular-nums">
        heartbeat {row.count > 1 && `×${formatCount(row.count)} (${formatSpan(spanMs)})`}
      </p>
    </RowFrame>
  );
}

export function Usage({ row }: { readonly row: UsageRow }) {
  return (
    <RowFrame row={row} icon={Coins} isQuiet>
      <p className="flex min-h-6 items-center text-xs text-ink-3 tabular-nums">
        {plural(row.calls, "model call")} · {formatCount(row.inputTokens)} in · {formatCount(row.outputTokens)} out ·{" "}
        {formatCost(row.costUsd)}
      </p>
    </RowFrame>
  );
}

export function Unknown({ row }: { readonly row: UnknownRow }) {
  const [isOpen, toggle] = useOpen(row.seq);
  return (
    <RowFrame row={row} icon={Braces} isQuiet>
      <RowToggle isOpen={isOpen} onToggle={toggle}>
        <code className="shrink-0 font-mono text-xs text-ink-2">{row.eventType}</code>
        {!isOpen && (
          <span className="truncate font-mono text-xs text-ink-3">{JSON.stringify(row.data).slice(0, 200)}</span>
        )}
      </RowToggle>
      {isOpen && <Json value={row.data} label={`Data of ${row.eventType}`} />}
    </RowFrame>
  );
}
