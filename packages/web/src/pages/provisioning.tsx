/** A sandbox being made, step by step: what is done, what is under way, what failed and why. */
import type { LogEvent } from "@drover/client";
import type { Sandbox } from "@drover/contract";
import { readNumber, readText } from "@drover/contract/views";
import { Circle, CircleCheck, CircleX, LoaderCircle } from "lucide-react";
import { lazy, Suspense } from "react";
import { formatDuration } from "../data/format.ts";
import { cx } from "../ui/class-names.ts";

const BrokenStart = lazy(() => import("./broken-start.tsx").then((module) => ({ default: module.BrokenStart })));

const STEPS = [
  { name: "environment", label: "Sandbox" },
  { name: "repository", label: "Repository" },
  { name: "worker", label: "Worker" },
  { name: "agent", label: "Agent" },
] as const;

type Status = "open" | "busy" | "done" | "failed";

const LOOKS = {
  open: { icon: Circle, look: "text-ink-3" },
  busy: { icon: LoaderCircle, look: "text-wait-ink" },
  done: { icon: CircleCheck, look: "text-live-ink" },
  failed: { icon: CircleX, look: "text-fail-ink" },
} as const;

/** Shown until the agent works, and when it never came to that. */
export function Provisioning({ sandbox, events }: { readonly sandbox: Sandbox; readonly events: readonly LogEvent[] }) {
  const isMaking = sandbox.state === "pending" || sandbox.state === "creating";
  const isBroken = sandbox.state === "failed" && sandbox.started_at === null;
  if (sandbox.provider === "external" || !(isMaking || isBroken)) return null;
  const told = new Map(
    events
      .filter((event) => event.event_type === "sandbox.provisioning")
      .map((event) => [readText(event.event_data, "step") ?? "", event.event_data]),
  );
  const steps = STEPS.filter(({ name }) => name !== "repository" || sandbox.repo !== null || told.has(name));
  const done = (name: string) => readText(told.get(name) ?? {}, "status") === "done";
  const next = steps.find(({ name }) => !done(name))?.name;
  const error = [...told.values()].find((step) => readText(step, "status") === "failed");
  const reason = readText(error ?? {}, "error") ?? sandbox.state_cause ?? "It failed before the agent began.";
  return (
    <section aria-label="Provisioning" className="border-b border-line bg-surface px-3 py-3 md:px-5">
      <ol className="flex flex-wrap gap-x-6 gap-y-2">
        {steps.map(({ name, label }) => {
          const step = told.get(name) ?? {};
          const status: Status =
            readText(step, "status") === "failed"
              ? "failed"
              : done(name)
                ? "done"
                : isMaking && name === next
                  ? "busy"
                  : "open";
          const { icon: Icon, look } = LOOKS[status];
          const took = readNumber(step, "duration_ms");
          return (
            <li
              key={name}
              data-step={name}
              data-status={status}
              className={cx("flex items-center gap-1.5 text-xs font-medium", look)}
            >
              <Icon size={14} aria-label={status} className={cx(status === "busy" && "animate-spin")} />
              {label}
              {took !== null && <span className="font-normal text-ink-3 tabular-nums">{formatDuration(took)}</span>}
            </li>
          );
        })}
      </ol>
      {isBroken ? (
        <Suspense fallback={<p className="mt-2 text-xs break-words text-fail-ink">{reason}</p>}>
          <BrokenStart sandbox={sandbox} reason={reason} />
        </Suspense>
      ) : (
        error !== undefined && <p className="mt-2 text-xs break-words text-fail-ink">{reason}</p>
      )}
    </section>
  );
}
