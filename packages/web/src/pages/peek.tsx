/** One sandbox beside the list: its last events as they happen, what it asks, and a message to it. The list stays where it is. */
import { TERMINAL_SANDBOX_STATES, type Sandbox } from "@drover/contract";
import { emptyFeed, foldFeed } from "@drover/contract/views";
import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { X } from "lucide-react";
import { useLayoutEffect, useMemo, useRef, useState } from "react";
import { client } from "../data/client.ts";
import { formatCost, formatCount, formatSpan } from "../data/format.ts";
import { useNow } from "../data/now.ts";
import { toTitle } from "../data/sandbox-title.ts";
import { Composer } from "../feed/composer.tsx";
import { Row } from "../feed/row.tsx";
import { Openness, RunContext } from "../feed/run-context.tsx";
import { TodoList } from "../feed/rows/tools.tsx";
import { useSettled } from "../replay/use-settled.ts";
import { Button } from "../ui/button.tsx";
import { copyText } from "../ui/copy.tsx";
import { Kbd } from "../ui/kbd.tsx";
import { Liveness } from "../ui/liveness.tsx";
import { notify } from "../ui/notify.ts";
import { Problem } from "../ui/problem.tsx";
import { QuietMark } from "../ui/quiet-mark.tsx";
import { StateBadge } from "../ui/state-badge.tsx";

const EVENTS = 150;
const READ_EVERY_MS = 1_000;

interface PeekProps {
  readonly sandbox: Sandbox;
  readonly mayOperate: boolean;
  readonly onClose: () => void;
  /** How often somebody asked to write from here: each time the field has the focus. */
  readonly replies?: number;
}

export function Peek({ sandbox, mayOperate, onClose, replies = 0 }: PeekProps) {
  const title = toTitle(sandbox);
  return (
    <aside
      aria-label={`Looking into ${title}`}
      data-testid="peek"
      className="flex min-h-0 w-[27rem] shrink-0 animate-enter flex-col border-l border-line bg-paper max-lg:fixed max-lg:inset-y-0 max-lg:right-0 max-lg:z-30 max-lg:max-w-full max-lg:shadow-lift xl:w-[32rem]"
    >
      <header className="flex flex-col gap-1.5 border-b border-line bg-surface px-4 py-3">
        <div className="flex items-center gap-2">
          <StateBadge state={sandbox.state} />
          <Liveness state={sandbox.state} lastAt={sandbox.last_heartbeat_at} />
          <QuietMark state={sandbox.state} health={sandbox.health} />
          <span className="flex-1" />
          <Link
            to="/sandboxes/$sandboxId"
            params={{ sandboxId: sandbox.id }}
            className="inline-flex h-7 items-center gap-1.5 rounded-md border border-line-strong bg-raised px-2.5 text-xs font-medium hover:bg-hover"
          >
            Open
          </Link>
          <Button look="ghost" size="icon" aria-label="Close" onClick={onClose} className="-mr-1 size-7">
            <X size={15} />
          </Button>
        </div>
        <h2 className="line-clamp-2 text-sm font-semibold tracking-tight break-words">{title}</h2>
        <Figures sandbox={sandbox} />
      </header>
      <LastRows key={sandbox.id} sandbox={sandbox} mayOperate={mayOperate} />
      {!TERMINAL_SANDBOX_STATES.has(sandbox.state) && mayOperate && (
        <Composer
          key={`${sandbox.id} ${replies}`}
          sandbox={sandbox}
          mayOperate={mayOperate}
          head={sandbox.event_count}
          hasFocus={replies > 0}
        />
      )}
      <p className="flex items-center gap-4 border-t border-line bg-surface px-4 py-1.5 text-2xs text-ink max-md:hidden">
        <span className="inline-flex items-center gap-1">
          <Kbd action="nextSandbox" /> <Kbd action="previousSandbox" /> next, previous
        </span>
        <span className="inline-flex items-center gap-1">
          <Kbd action="message" /> message
        </span>
        <span className="inline-flex items-center gap-1">
          <Kbd action="peek" /> close
        </span>
      </p>
    </aside>
  );
}

function Figures({ sandbox }: { readonly sandbox: Sandbox }) {
  const now = useNow();
  const end = sandbox.ended_at === null ? now : Date.parse(sandbox.ended_at);
  const facts: readonly (string | null)[] = [
    sandbox.runtime ?? sandbox.provider,
    sandbox.branch,
    `turn ${formatCount(sandbox.turn)}`,
    `${formatCount(sandbox.event_count)} events`,
    sandbox.tokens.total === 0 ? null : sandbox.cost_usd === null ? "no price" : formatCost(sandbox.cost_usd),
    formatSpan(end - Date.parse(sandbox.started_at ?? sandbox.created_at)),
  ];
  return (
    <p className="truncate text-xs text-ink-3 tabular-nums">{facts.filter((fact) => fact !== null).join(" · ")}</p>
  );
}

function LastRows({ sandbox, mayOperate }: Pick<PeekProps, "sandbox" | "mayOperate">) {
  const navigate = useNavigate();
  const seq = useSettled(sandbox.last_seq, READ_EVERY_MS);
  const read = useQuery({
    queryKey: ["peek", sandbox.id, seq] as const,
    queryFn: ({ signal }) =>
      client.listSandboxEvents({ params: { sandbox_id: sandbox.id }, query: { limit: EVENTS } }, { signal }),
    placeholderData: keepPreviousData,
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 30_000,
  });
  const view = useMemo(() => {
    const events = read.data?.events.toReversed() ?? [];
    return foldFeed(
      emptyFeed(),
      events.map((event) => ({ ...event, sandbox_seq: event.sandbox_seq ?? 0 })),
    );
  }, [read.data]);
  const [openness] = useState(() => new Openness());
  const mayAnswer = mayOperate && !TERMINAL_SANDBOX_STATES.has(sandbox.state);
  const context = useMemo(() => {
    const open = (e: number) =>
      void navigate({ to: "/sandboxes/$sandboxId", params: { sandboxId: sandbox.id }, search: { e } });
    return {
      sandboxId: sandbox.id,
      openness,
      mayAnswer,
      onFullDiff: open,
      onCopyLink: async (e: number) => {
        const isCopied = await copyText(`${location.origin}/sandboxes/${sandbox.id}?e=${e}`);
        if (isCopied) notify.good(`Link to event ${e} copied`);
      },
    };
  }, [sandbox.id, openness, mayAnswer, navigate]);
  const scroller = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  useLayoutEffect(() => {
    const box = scroller.current;
    if (box !== null && isAtEnd.current) box.scrollTop = box.scrollHeight;
  }, [view]);
  if (read.isError)
    return (
      <div className="p-4">
        <Problem error={read.error} what="Its events could not be read" onRetry={() => void read.refetch()} />
      </div>
    );
  return (
    <RunContext.Provider value={context}>
      <div
        ref={scroller}
        role="region"
        aria-label="Last events"
        tabIndex={0}
        onScroll={({ currentTarget: box }) => {
          isAtEnd.current = box.scrollHeight - box.scrollTop - box.clientHeight < 24;
        }}
        className="@container min-h-0 flex-1 overflow-y-auto py-2 focus-visible:-outline-offset-2"
      >
        {read.isPending && <div className="skeleton m-4 h-40" />}
        {view.todo.length > 0 && (
          <div className="mx-4 mb-2 rounded-lg border border-line bg-surface px-3 py-2">
            <TodoList items={view.todo} />
          </div>
        )}
        {read.isSuccess && view.rows.length === 0 && (
          <p className="p-6 text-center text-sm text-ink-3">Nothing has happened yet.</p>
        )}
        {view.rows.map((row) => (
          <Row key={row.seq} row={row} />
        ))}
      </div>
    </RunContext.Provider>
  );
}
