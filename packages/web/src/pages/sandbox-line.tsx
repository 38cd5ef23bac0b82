/** An ended sandbox as one line. */
import type { Sandbox } from "@drover/contract";
import { Link } from "@tanstack/react-router";
import { memo } from "react";
import { formatAge, formatCount, formatSpan } from "../data/format.ts";
import { useNow } from "../data/now.ts";
import { toTitle } from "../data/sandbox-title.ts";
import { StateBadge } from "../ui/state-badge.tsx";
import { UnsafeBadge } from "../ui/unsafe-badge.tsx";

interface LineProps {
  readonly sandbox: Sandbox;
  readonly project: string | undefined;
}

export const SandboxLine = memo(function SandboxLine({ sandbox, project }: LineProps) {
  const now = useNow();
  const start = Date.parse(sandbox.started_at ?? sandbox.created_at);
  const end = sandbox.ended_at === null ? undefined : Date.parse(sandbox.ended_at);
  return (
    <li className="relative grid grid-cols-[auto_1fr_auto] items-center gap-x-4 gap-y-0.5 border-b border-line px-4 py-2.5 last:border-0 hover:bg-hover has-focus-visible:bg-hover">
      <StateBadge state={sandbox.state} className="w-28 justify-start" />
      <div className="min-w-0">
        <Link
          to="/sandboxes/$sandboxId"
          params={{ sandboxId: sandbox.id }}
          data-sandbox-link
          className="block truncate text-sm font-medium after:absolute after:inset-0 focus-visible:outline-none after:focus-visible:outline-2 after:focus-visible:-outline-offset-2 after:focus-visible:outline-live"
        >
          {toTitle(sandbox)}
        </Link>
        <p className="truncate text-xs text-ink-3">
          {[project, sandbox.runtime ?? sandbox.provider, sandbox.state_cause, sandbox.id].filter(Boolean).join(" · ")}
        </p>
      </div>
      <p className="flex items-center gap-4 text-right text-xs text-ink-3 tabular-nums">
        <UnsafeBadge enforcedBy={sandbox.enforced_by} />
        <span className="hidden w-20 sm:inline">{formatCount(sandbox.event_count)} ev</span>
        <span className="hidden w-20 md:inline">{end === undefined ? "" : formatSpan(end - start)}</span>
        <time dateTime={sandbox.created_at} className="w-10">
          {formatAge(now - Date.parse(sandbox.created_at))}
        </time>
      </p>
    </li>
  );
});
