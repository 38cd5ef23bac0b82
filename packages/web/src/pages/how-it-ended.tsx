/** A run that is over, in one line: how it ended, what it left and cost, and the ways on. */
import type { Sandbox } from "@drover/contract";
import { isTestRun, type FeedView, toCause } from "@drover/contract/views";
import { Link } from "@tanstack/react-router";
import { GitPullRequest, History } from "lucide-react";
import { useMemo } from "react";
import { formatCost, formatCount, formatSpan, plural } from "../data/format.ts";
import { TestResult } from "./test-result.tsx";
import { Figure } from "../ui/figure.tsx";
import { StateBadge } from "../ui/state-badge.tsx";
import { ForkButton } from "./fork-button.tsx";

interface HowItEndedProps {
  readonly sandbox: Sandbox;
  readonly view: FeedView;
  readonly mayOperate: boolean;
}

export function HowItEnded({ sandbox, view, mayOperate }: HowItEndedProps) {
  const { id, state, state_cause: cause, pull_request: pull, started_at: start, ended_at: end } = sandbox;
  const tested = useMemo(() => view.rows.findLast(isTestRun), [view.rows]);
  const files = [...view.files.values()];
  const added = files.reduce((sum, file) => sum + file.added, 0);
  const removed = files.reduce((sum, file) => sum + file.removed, 0);
  const endMs = Date.parse(end ?? sandbox.last_event_at ?? sandbox.created_at);
  return (
    <section
      aria-label="How it ended"
      data-testid="run-outcome"
      className="flex flex-wrap items-center gap-x-4 gap-y-2 border-t border-line bg-surface px-3 py-2.5 text-xs md:px-5"
    >
      <StateBadge state={state} />
      <dl className="flex min-w-0 flex-1 basis-64 flex-wrap items-baseline gap-x-4 gap-y-1 text-ink-3 tabular-nums">
        {cause !== null && <Figure name="because">{toCause(cause)}</Figure>}
        {start !== null && <Figure name="took">{formatSpan(endMs - Date.parse(start))}</Figure>}
        <Figure name="changed">
          {files.length === 0 ? (
            "no file"
          ) : (
            <Link
              to="/sandboxes/$sandboxId"
              params={{ sandboxId: id }}
              search={{ tab: "changes" }}
              className="rounded underline-offset-2 hover:underline"
            >
              {plural(files.length, "file")} <span className="text-live-ink">+{formatCount(added)}</span>{" "}
              <span className="text-fail-ink">−{formatCount(removed)}</span>
            </Link>
          )}
        </Figure>
        {tested !== undefined && (
          <Figure name="tests">
            <TestResult sandboxId={id} row={tested} />
          </Figure>
        )}
        {sandbox.tokens.total > 0 && (
          <Figure name="cost">{sandbox.cost_usd === null ? "no price" : formatCost(sandbox.cost_usd)}</Figure>
        )}
        {pull !== undefined && pull !== null && (
          <Figure name="pull request">
            <Link
              to="/tasks/pulls/$pullId"
              params={{ pullId: pull.id }}
              className="inline-flex items-center gap-1 rounded text-live-ink underline-offset-2 hover:underline"
            >
              <GitPullRequest size={12} aria-hidden /> #{pull.number} {pull.state}
            </Link>
          </Figure>
        )}
      </dl>
      <Link
        to="/sandboxes/$sandboxId/replay"
        params={{ sandboxId: id }}
        className="inline-flex h-7 shrink-0 items-center gap-1.5 rounded-md border border-line-strong bg-raised px-2.5 text-xs font-medium hover:bg-hover max-md:h-11"
      >
        <History size={13} aria-hidden /> Replay
      </Link>
      {mayOperate && (
        <ForkButton sandbox={sandbox} look="plain" className="max-md:h-11">
          Fork from here
        </ForkButton>
      )}
    </section>
  );
}
