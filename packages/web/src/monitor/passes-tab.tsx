/** How supervision is set, and how its passes fare. */
import { useQuery } from "@tanstack/react-query";
import { formatAge, formatCount, formatPeriod } from "../data/format.ts";
import { useNow } from "../data/now.ts";
import { Section } from "../pages/section.tsx";
import { cx } from "../ui/class-names.ts";
import { Problem } from "../ui/problem.tsx";
import { statusQuery } from "./queries.ts";

const MODES: Readonly<Record<string, string>> = {
  shadow: "Only notes what it would do.",
  nudge: "Notes, speaks to agents and asks people.",
  full: "Also pauses and stops runs.",
};

export function PassesTab() {
  const status = useQuery(statusQuery);
  const now = useNow();
  if (status.isError)
    return <Problem error={status.error} what="Supervision could not be read" onRetry={() => void status.refetch()} />;
  if (status.data === undefined) return <div className="skeleton h-64" />;
  const { config, loops, metrics } = status.data;
  return (
    <div className="grid gap-6 lg:grid-cols-2">
      <Section title="Configuration">
        <Setting name="Mode" value={config.guardian_mode} note={MODES[config.guardian_mode]} option="GUARDIAN_MODE" />
        <Setting
          name="Judge"
          value={config.judge ? "a model judges too" : "none"}
          note={config.judge ? undefined : "Measured signs decide alone."}
          option="GUARDIAN_JUDGE_MODEL"
        />
        <Setting name="Guardian looks" value={`every ${formatPeriod(config.guardian_interval_seconds * 1_000)}`} />
        <Setting name="Conductor looks" value={`every ${formatPeriod(config.conductor_interval_seconds * 1_000)}`} />
        <Setting name="Runs judged at once" value={formatCount(config.max_concurrent_analyses)} />
        <p className="px-4 py-3 text-xs text-ink-3">
          Settings of the server, read when it starts: by environment, by flag or in its configuration file.
        </p>
      </Section>
      <Section title="Passes">
        <p className="px-4 py-3 text-sm text-ink-2">
          {formatCount(metrics.successful_cycles)} of {formatCount(metrics.total_cycles)} went well,{" "}
          {formatCount(metrics.total_interventions)} interventions in all.
        </p>
        {loops.map((loop) => (
          <div
            key={loop.name}
            className="flex flex-wrap items-center gap-x-4 gap-y-1 px-4 py-2.5 text-xs"
            data-loop={loop.name}
          >
            <span className="min-w-0 flex-1 truncate text-sm font-medium">{loop.name.replaceAll("-", " ")}</span>
            <span className="w-18 text-ink-3 tabular-nums">every {formatPeriod(loop.every_seconds * 1_000)}</span>
            <span className="w-14 text-right text-ink-3 tabular-nums">
              {loop.last_started_at === null ? "not yet" : `${formatAge(now - Date.parse(loop.last_started_at))} ago`}
            </span>
            <span
              className={cx(
                "w-18 text-right tabular-nums",
                loop.failed > 0 ? "font-semibold text-fail-ink" : "text-ink-3",
              )}
            >
              {loop.failed > 0 ? `${formatCount(loop.failed)} failed` : `${formatCount(loop.cycles)} done`}
            </span>
            {loop.last_error !== null && <p className="w-full break-words text-fail-ink">{loop.last_error}</p>}
          </div>
        ))}
      </Section>
    </div>
  );
}

interface SettingProps {
  readonly name: string;
  readonly value: string;
  readonly note?: string | undefined;
  readonly option?: string;
}

const Setting = ({ name, value, note, option }: SettingProps) => (
  <div className="flex flex-wrap items-baseline gap-x-4 px-4 py-2.5">
    <div className="min-w-0 flex-1">
      <p className="text-sm font-medium">{name}</p>
      {note !== undefined && <p className="text-xs text-ink-3">{note}</p>}
      {option !== undefined && <code className="font-mono text-2xs text-ink-3">{option}</code>}
    </div>
    <span className="text-sm">{value}</span>
  </div>
);
