/** How the whole stands, in figures that lead to what is behind them. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { CirclePause, Play } from "lucide-react";
import { useEffect, type ReactNode } from "react";
import { formatAge, formatClock, formatCount } from "../data/format.ts";
import { useNow } from "../data/now.ts";
import { queryClient } from "../data/queries.ts";
import { Section } from "../pages/section.tsx";
import { Button } from "../ui/button.tsx";
import { Empty } from "../ui/empty.tsx";
import { Problem } from "../ui/problem.tsx";
import { BigFigure } from "./big-figure.tsx";
import { Charts } from "./charts.tsx";
import { Lately } from "./lately.tsx";
import { dashboardQuery, healthQuery, useHold } from "./queries.ts";
import { Raised } from "./raised.tsx";
import { Score, SystemBadge, toWords } from "./words.tsx";

const release = () => useHold.setState({ isHeld: false });

export function OverviewTab() {
  // Read here, so that everything below learns at once that the clock has stopped or goes on.
  const isHeld = useHold((hold) => hold.isHeld);
  useEffect(() => release, []);
  return (
    <>
      <div className="flex flex-wrap items-center justify-between gap-x-5 gap-y-2 max-sm:-mb-2">
        <Standing />
        <Hold isHeld={isHeld} />
      </div>
      <Figures isHeld={isHeld} />
      <Charts />
      <Raised />
      <Signs />
    </>
  );
}

function Hold({ isHeld }: { readonly isHeld: boolean }) {
  const { dataUpdatedAt: readAt } = useQuery(dashboardQuery);
  const goOn = () => {
    release();
    void queryClient.invalidateQueries({ queryKey: ["monitor"] });
  };
  return (
    <div className="flex items-center gap-3 text-xs text-ink-3">
      <span role="status" className="tabular-nums">
        {isHeld ? readAt > 0 && `as of ${formatClock(new Date(readAt).toISOString())}` : "read again every 10 s"}
      </span>
      {isHeld ? (
        <Button size="small" onClick={goOn}>
          <Play size={13} /> Go on
        </Button>
      ) : (
        <Button size="small" aria-label="Pause the figures" onClick={() => useHold.setState({ isHeld: true })}>
          <CirclePause size={13} /> Pause
        </Button>
      )}
    </div>
  );
}

function Standing() {
  const health = useQuery(healthQuery);
  const now = useNow();
  if (health.isError)
    return <Problem error={health.error} what="The health could not be read" onRetry={() => void health.refetch()} />;
  if (health.data === undefined) return <div className="skeleton h-10 flex-1" />;
  const { average_alignment: alignment, agents_need_steering: steering, last_analysis: last } = health.data;
  return (
    <div className="flex flex-wrap items-center gap-x-5 gap-y-2" data-testid="standing">
      <SystemBadge health={health.data.system_health} />
      <span className="inline-flex items-center gap-2 text-sm text-ink-2">
        alignment{" "}
        {alignment === null ? (
          <span className="text-ink-3">nobody was judged</span>
        ) : (
          <Score value={alignment} label="alignment" />
        )}
      </span>
      {steering > 0 && (
        <Link to="/monitor" search={{ tab: "guardian" }} className="text-sm font-medium text-wait-ink hover:underline">
          {formatCount(steering)} to be steered
        </Link>
      )}
      <span className="text-xs text-ink-3">
        {last === null ? "no verdict yet" : `last verdict ${formatAge(now - Date.parse(last))} ago`}
      </span>
    </div>
  );
}

interface FigureProps {
  readonly name: string;
  readonly value: number | undefined;
  readonly isAlarm?: boolean;
  readonly link: (children: ReactNode, className: string) => ReactNode;
}

const Figure = ({ name, value, isAlarm = false, link }: FigureProps) => (
  <BigFigure
    name={name}
    value={value === undefined ? "…" : formatCount(value)}
    isAlarm={isAlarm && value !== undefined && value > 0}
    link={link}
  />
);

/** Each number leads to the list behind it. */
function Figures({ isHeld }: { readonly isHeld: boolean }) {
  const dashboard = useQuery(dashboardQuery);
  const data = dashboard.data;
  if (dashboard.isError)
    return (
      <Problem error={dashboard.error} what="The figures could not be read" onRetry={() => void dashboard.refetch()} />
    );
  const working = { state: "pending,creating,running,completing" };
  return (
    <div className="grid grid-cols-2 gap-3 sm:grid-cols-3 lg:grid-cols-5 2xl:grid-cols-9" data-testid="figures">
      <Figure
        name="agents at work"
        value={data?.active_agents}
        link={(children, className) => (
          <Link to="/sandboxes" search={working} className={className}>
            {children}
          </Link>
        )}
      />
      <Figure
        name="waiting for an answer"
        value={data?.waiting_for_answer}
        isAlarm
        link={(children, className) => (
          <Link to="/" className={className}>
            {children}
          </Link>
        )}
      />
      <Figure
        name="silent"
        value={data?.stale_agents}
        isAlarm
        link={(children, className) => (
          <Link to="/sandboxes" search={working} className={className}>
            {children}
          </Link>
        )}
      />
      <Figure
        name="tasks to do"
        value={data?.total_tasks_pending}
        link={(children, className) => (
          <Link to="/tasks" search={{ view: "list" }} className={className}>
            {children}
          </Link>
        )}
      />
      <Figure
        name="events last minute"
        value={data?.events_last_minute}
        link={(children, className) => (
          <Link to="/" className={className}>
            {children}
          </Link>
        )}
      />
      <Figure
        name="interventions last hour"
        value={data?.interventions_last_hour}
        isAlarm
        link={(children, className) => (
          <Link to="/monitor" search={{ tab: "guardian" }} className={className}>
            {children}
          </Link>
        )}
      />
      <Lately isHeld={isHeld} />
    </div>
  );
}

/** What is measured of the running agents right now. */
function Signs() {
  const health = useQuery(healthQuery);
  const conditions = Object.entries(health.data?.conditions ?? {});
  const signals = Object.entries(health.data?.signals ?? {});
  return (
    <div className="grid gap-6 md:grid-cols-2">
      <Section title="Conditions">
        {conditions.length === 0 && (
          <Empty title="No agent works">Their conditions stand here as soon as one does.</Empty>
        )}
        {conditions.map(([name, count]) => (
          <Tally key={name} name={name} count={count} />
        ))}
      </Section>
      <Section title="Signs of trouble">
        {signals.length === 0 && <Empty title="None">Nobody repeats himself, fails in a row or burns tokens.</Empty>}
        {signals.map(([name, count]) => (
          <Tally key={name} name={name} count={count} />
        ))}
      </Section>
    </div>
  );
}

const Tally = ({ name, count }: { readonly name: string; readonly count: number }) => (
  <p className="flex items-center justify-between px-4 py-2.5 text-sm">
    {toWords(name)} <span className="font-semibold tabular-nums">{formatCount(count)}</span>
  </p>
);
