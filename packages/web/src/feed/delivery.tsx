/** How far a message came: queued, delivered to the worker, seen by the model. */
import type { DeliveryStep } from "@drover/contract/views";
import { Check, CheckCheck, Clock3, TriangleAlert } from "lucide-react";
import { formatClock, formatDuration } from "../data/format.ts";
import { cx } from "../ui/class-names.ts";

type Stage = "sending" | "queued" | "delivered" | "seen" | "failed" | "expired";

const STAGES: Readonly<Record<Stage, { readonly icon: typeof Check; readonly look: string }>> = {
  sending: { icon: Clock3, look: "text-ink-3" },
  queued: { icon: Clock3, look: "text-ink-3" },
  delivered: { icon: Check, look: "text-ink-2" },
  seen: { icon: CheckCheck, look: "text-live-ink" },
  failed: { icon: TriangleAlert, look: "text-fail-ink" },
  expired: { icon: TriangleAlert, look: "text-fail-ink" },
};

/** A lease may run out and the message come back: the last step counts, a lease is still the queue. */
const toStage = (steps: readonly DeliveryStep[]): Stage => {
  const last = steps.at(-1)?.state ?? "queued";
  return last === "leased" ? "queued" : last;
};

interface DeliveryProps {
  readonly steps: readonly DeliveryStep[];
  readonly detail?: string | null;
  /** Who has seen one has stopped. */
  readonly isInterrupt?: boolean;
}

export function Delivery({ steps, detail = null, isInterrupt = false }: DeliveryProps) {
  const stage = toStage(steps);
  const first = steps[0];
  const last = steps.at(-1);
  const tookMs = first === undefined || last === undefined ? 0 : Date.parse(last.at) - Date.parse(first.at);
  return (
    <StageBadge
      stage={stage}
      {...(isInterrupt && stage === "seen" ? { word: "stopped" } : {})}
      title={[
        ...steps.map((step) => `${step.state} ${formatClock(step.at)}`),
        ...(detail === null ? [] : [detail]),
      ].join("\n")}
      note={steps.length > 1 && stage !== "queued" ? formatDuration(tookMs) : undefined}
    />
  );
}

export function StageBadge({
  stage,
  word = stage,
  title,
  note,
}: {
  readonly stage: Stage;
  /** The stage's own name when absent. */
  readonly word?: string;
  readonly title?: string;
  readonly note?: string | undefined;
}) {
  const { icon: Icon, look } = STAGES[stage];
  return (
    <span
      className={cx("inline-flex items-center gap-1 text-xs font-medium", look)}
      title={title}
      data-delivery={stage}
    >
      <Icon size={13} aria-hidden />
      {word}
      {note !== undefined && <span className="font-normal text-ink-3 tabular-nums">after {note}</span>}
    </span>
  );
}
