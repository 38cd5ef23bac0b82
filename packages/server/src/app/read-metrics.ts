/** Figures over time, for charts: as fine as was asked for and as is still kept. */
import { AppError, METRICS, MetricName, type Metrics, type MetricsQuery } from "@drover/contract";
import type { COARSER } from "../store/metrics.ts";
import { listLatest, listSeries, loadMetricCursor, RAW_SECONDS } from "../store/metrics.ts";
import type { Person } from "./credential.ts";
import type { Deps } from "./deps.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 86_400_000;
const LONGEST_MS = 400 * DAY_MS;
/** Beyond these ages only coarser rows are left; one minute less, so that nobody reads what is being removed. */
const FINE_MS = 2 * DAY_MS - 60_000;
const MIDDLE_MS = 30 * DAY_MS - 60_000;

const ALL = MetricName.options;

type Step = typeof RAW_SECONDS | (typeof COARSER)[number];

/** Whole rows make a point, and no more points than asked for. */
function pickSteps(
  spanMs: number,
  ageMs: number,
  { points, everySeconds }: { readonly points: number; readonly everySeconds: number },
): { step: Step; binSeconds: number } {
  const wanted = spanMs / 1_000 / points;
  const finest: Step = ageMs > MIDDLE_MS ? 3_600 : ageMs > FINE_MS ? 300 : RAW_SECONDS;
  const step = ([3_600, 300, RAW_SECONDS] as const).find((one) => one <= Math.max(wanted, finest)) ?? RAW_SECONDS;
  // Nor more than there are measurements.
  return { step, binSeconds: Math.ceil(Math.max(wanted, everySeconds) / step) * step };
}

/** As rows are named when they are measured. */
const toScope = (projectId: string | null, phaseId: string | undefined): string =>
  [projectId, phaseId].filter((part) => part !== null && part !== undefined).join(" ");

export async function readMetrics(deps: Deps, actor: Person, query: MetricsQuery): Promise<Metrics> {
  const mine = actor.grant.projectId;
  if (mine !== null && query.project_id !== undefined && query.project_id !== mine)
    throw new AppError("project.not_found");
  const now = deps.clock.now().getTime();
  const toMs = query.to === undefined ? now : Date.parse(query.to);
  const fromMs = Math.max(query.from === undefined ? toMs - HOUR_MS : Date.parse(query.from), toMs - LONGEST_MS);
  if (fromMs >= toMs) throw new AppError("request.invalid", "`from` lies before `to`");
  const { step, binSeconds } = pickSteps(toMs - fromMs, now - fromMs, {
    points: query.points,
    everySeconds: deps.config.healthCheckIntervalSeconds,
  });
  const binMs = binSeconds * 1_000;
  const firstMs = Math.floor(fromMs / binMs) * binMs;
  const metrics = [...new Set(query.metric ?? ALL)];
  const cursor = await loadMetricCursor.one(deps.db);
  const rolled = step === RAW_SECONDS ? null : cursor[`rolled_${step}`];
  const rows = await listSeries(deps.db, {
    metrics,
    scope: toScope(query.project_id ?? mine, query.phase_id),
    from: new Date(firstMs),
    to: new Date(toMs),
    step,
    finerFrom: rolled ?? new Date(0),
    binSeconds,
  });
  const known = new Map(rows.map((row) => [`${row.metric} ${row.at.getTime()}`, row.value]));
  const count = Math.ceil((toMs - firstMs) / binMs);
  const times = Array.from({ length: count }, (_, index) => firstMs + index * binMs);
  return {
    from: new Date(firstMs).toISOString(),
    to: new Date(toMs).toISOString(),
    step_seconds: binSeconds,
    series: metrics.map((metric) => ({
      metric,
      unit: METRICS[metric].unit,
      points: times.map((at) => ({ at: new Date(at).toISOString(), value: known.get(`${metric} ${at}`) ?? null })),
    })),
  };
}

const RECENT_MS = 120_000;

/** What was last measured over all projects, and what was counted so far; nothing when nobody measures. */
export async function listMeasured(deps: Deps) {
  const notBefore = new Date(deps.clock.now().getTime() - RECENT_MS);
  const latest = await listLatest(deps.db, "", notBefore);
  const { totals } = await loadMetricCursor.one(deps.db);
  return [
    ...latest.map(({ metric, value }) => ({
      name: `drover_${metric}`,
      help: METRICS[metric].doc,
      kind: "gauge" as const,
      value,
    })),
    ...Object.entries(totals).map(([name, value]) => ({
      name: `drover_${name}_total`,
      help: `Since the first measurement. ${METRICS[name as MetricName].doc}`,
      kind: "counter" as const,
      value,
    })),
  ];
}
