/** Who wrote a line: the turn, what was asked and said before it, and the tests that followed. */
import { toChangeStory, type FeedView, type FileStep } from "@drover/contract/views";
import { Link } from "@tanstack/react-router";
import { CircleCheck, CircleX, X } from "lucide-react";
import { useMemo, type ReactNode } from "react";
import { formatClock } from "../data/format.ts";
import { Button } from "../ui/button.tsx";

interface LineStoryProps {
  readonly sandboxId: string;
  readonly rows: FeedView["rows"];
  readonly line: number;
  readonly text: string;
  /** Undefined: the line was there before the run, or came by a change that was not told. */
  readonly step: FileStep | undefined;
  readonly onClose: () => void;
}

export function LineStory({ sandboxId, rows, line, text, step, onClose }: LineStoryProps) {
  const story = useMemo(() => (step === undefined ? undefined : toChangeStory(rows, step.row)), [rows, step]);
  return (
    <aside
      aria-label={`Who wrote line ${line}`}
      className="flex shrink-0 flex-col gap-3 overflow-y-auto border-line bg-surface p-4 text-xs max-lg:max-h-[45%] max-lg:border-t lg:w-80 lg:border-l"
    >
      <header className="flex items-start gap-2">
        <div className="min-w-0 flex-1">
          <h3 className="text-sm font-semibold tracking-tight">
            {step === undefined ? "Not of this run" : `Turn ${step.row.turn ?? "?"}`}
          </h3>
          <p className="text-ink-3 tabular-nums">
            line {line}
            {step !== undefined && ` · ${formatClock(step.row.at)}`}
          </p>
        </div>
        <Button look="ghost" size="icon" aria-label="Close" className="-mt-1 -mr-2" onClick={onClose}>
          <X size={15} />
        </Button>
      </header>
      <p className="line-clamp-3 shrink-0 rounded-md bg-sunken px-2 py-1 font-mono break-all">
        {text.trim() || "(empty line)"}
      </p>
      {step === undefined || story === undefined ? (
        <p className="text-ink-2 text-pretty">This line was there before, or no event of the run tells who wrote it.</p>
      ) : (
        <>
          {story.asked !== undefined && (
            <Part name="Asked before" sandboxId={sandboxId} seq={story.asked.seq}>
              {story.asked.text}
            </Part>
          )}
          {story.said !== undefined && (
            <Part name="The agent said" sandboxId={sandboxId} seq={story.said.seq}>
              {story.said.text}
            </Part>
          )}
          <Part
            name={step.row.call === null ? "Changed by" : `Changed by ${step.row.call.tool}`}
            sandboxId={sandboxId}
            seq={step.row.seq}
          >
            <span className="font-mono break-all">{step.edit.path}</span>{" "}
            <span className="whitespace-nowrap text-live-ink">+{step.edit.added}</span>{" "}
            <span className="whitespace-nowrap text-fail-ink">−{step.edit.removed}</span>
          </Part>
          {story.tested === undefined ? (
            <p className="text-ink-3">No tests ran after it.</p>
          ) : (
            <Part name="Tests after it" sandboxId={sandboxId} seq={story.tested.seq}>
              <span className="flex items-center gap-1.5">
                {story.isTestFailed ? (
                  <CircleX size={13} aria-hidden className="shrink-0 text-fail-ink" />
                ) : (
                  <CircleCheck size={13} aria-hidden className="shrink-0 text-live-ink" />
                )}
                <span className="min-w-0 truncate font-mono">{story.tested.command}</span>
                <span className={story.isTestFailed ? "text-fail-ink" : "text-live-ink"}>
                  {story.tested.call.endedAt === null ? "running" : story.isTestFailed ? "failed" : "passed"}
                </span>
              </span>
            </Part>
          )}
          <Link
            to="/sandboxes/$sandboxId/replay"
            params={{ sandboxId }}
            search={{ at: step.row.lastSeq, file: step.edit.path }}
            className="self-start font-medium text-live-ink underline underline-offset-2"
          >
            Replay this moment
          </Link>
        </>
      )}
    </aside>
  );
}

function Part({
  name,
  sandboxId,
  seq,
  children,
}: {
  readonly name: string;
  readonly sandboxId: string;
  readonly seq: number;
  readonly children: ReactNode;
}) {
  return (
    <div>
      <p className="flex items-baseline justify-between gap-2 text-ink-3">
        {name}
        <Link
          to="/sandboxes/$sandboxId"
          params={{ sandboxId }}
          search={{ e: seq }}
          aria-label={`${name}: open event ${seq}`}
          className="rounded text-2xs tabular-nums underline underline-offset-2 hover:text-ink"
        >
          event {seq}
        </Link>
      </p>
      <div className="mt-0.5 line-clamp-4 text-ink break-words">{children}</div>
    </div>
  );
}
