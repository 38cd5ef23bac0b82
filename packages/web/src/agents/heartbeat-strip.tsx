/** How an agent's workers beat over the last day, a quarter of an hour each: full is heard, short is silent, a line is nobody at work;
 *  a dot above tells that somebody was started again, failed or stood out. */
import type { AgentHeartbeats, HeartbeatStep } from "@drover/contract";
import { useQuery } from "@tanstack/react-query";
import { formatClock, formatDay, plural } from "../data/format.ts";
import { Section } from "../pages/section.tsx";
import { Problem } from "../ui/problem.tsx";
import { heartbeatsQuery } from "./queries.ts";

const CELL = 8;
const DOT = 8;
const TALL = 28;
const SHORT = 10;
const TOLD = 6;

const NOTES = [
  ["silent", "silent", "fill-fail"],
  ["restarts", "started again", "fill-wait"],
  ["failures", "failed", "fill-fail"],
  ["anomalies", "stood out", "fill-wait"],
] as const satisfies readonly (readonly [keyof HeartbeatStep, string, string])[];

const toWords = (step: HeartbeatStep): string =>
  NOTES.filter(([name]) => step[name] > 0)
    .map(([name, word]) => `${step[name]} ${word}`)
    .join(", ");

const sum = (steps: readonly HeartbeatStep[], name: Exclude<keyof HeartbeatStep, "at">) =>
  steps.reduce((all, step) => all + step[name], 0);

export function HeartbeatStrip({ agentName }: { readonly agentName: string }) {
  const beats = useQuery(heartbeatsQuery(agentName));
  return (
    <Section title="Heartbeats of the last 24 hours">
      {beats.data !== undefined && <Strip beats={beats.data} />}
      {beats.isError && beats.data === undefined && (
        <Problem error={beats.error} what="The heartbeats could not be read" onRetry={() => void beats.refetch()} />
      )}
      {beats.isPending && <div className="skeleton m-4 h-16" />}
    </Section>
  );
}

function Strip({ beats: { steps, sandboxes } }: { readonly beats: AgentHeartbeats }) {
  const told = steps.filter((step) => toWords(step) !== "").toReversed();
  const summary =
    sandboxes === 0
      ? "Nobody was at work"
      : `${plural(sum(steps, "heartbeats"), "heartbeat")} of ${plural(sandboxes, "sandbox").replace("xs", "xes")}, ` +
        `${plural(sum(steps, "restarts"), "restart")}, ${plural(sum(steps, "failures"), "failure")}`;
  return (
    <div className="flex flex-col gap-2 px-4 py-3">
      <p data-testid="heartbeats" className="text-sm">
        {summary}
      </p>
      <svg
        viewBox={`0 0 ${steps.length * CELL} ${DOT + TALL}`}
        preserveAspectRatio="none"
        className="h-9 w-full"
        role="img"
        aria-label={`${summary}, in steps of a quarter of an hour`}
      >
        {steps.map((step, at) => (
          <Cell key={step.at} step={step} x={at * CELL} />
        ))}
      </svg>
      <p aria-hidden className="flex justify-between text-xs text-ink-3">
        <span>24 hours ago</span>
        <span>now</span>
      </p>
      {told.length > 0 && (
        <ul aria-label="What was noticed" className="flex flex-col gap-0.5 text-xs text-ink-2">
          {told.slice(0, TOLD).map((step) => (
            <li key={step.at} data-step={step.at}>
              <time dateTime={step.at} title={formatDay(step.at)} className="text-ink-3 tabular-nums">
                {formatClock(step.at)}
              </time>{" "}
              {toWords(step)}
            </li>
          ))}
          {told.length > TOLD && <li className="text-ink-3">and {plural(told.length - TOLD, "earlier step")}</li>}
        </ul>
      )}
    </div>
  );
}

function Cell({ step, x }: { readonly step: HeartbeatStep; readonly x: number }) {
  const { heard, silent } = step;
  const bottom = DOT + TALL;
  const note = NOTES.find(([name]) => name !== "silent" && step[name] > 0);
  return (
    <g>
      <title>
        {formatDay(step.at)}: {heard} heard{toWords(step) === "" ? "" : `, ${toWords(step)}`}
      </title>
      {heard === 0 && silent === 0 && (
        <rect x={x} y={bottom - 2} width={CELL - 2} height={2} className="fill-line-strong" />
      )}
      {heard > 0 && <rect x={x} y={DOT} width={CELL - 2} height={TALL} rx={1} className="fill-live" />}
      {silent > 0 && <rect x={x} y={bottom - SHORT} width={CELL - 2} height={SHORT} rx={1} className="fill-fail" />}
      {note !== undefined && <rect x={x} y={0} width={CELL - 2} height={DOT - 3} rx={1} className={note[2]} />}
    </g>
  );
}
