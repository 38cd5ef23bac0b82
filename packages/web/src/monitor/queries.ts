/** What the monitor's pages read: again and again while somebody looks, and at once when the stream tells of it. */
import { queryOptions } from "@tanstack/react-query";
import { create } from "zustand";
import { client } from "../data/client.ts";
import { messagesQuery } from "../data/queries.ts";
import type { MonitorRange } from "../search-params.ts";

const EVERY_MS = 10_000;
const SHOWN = 100;
/** Of one run: as many as a page of the server holds. */
const MOST = 500;

/** Whether the figures of the overview are to stay as they are. */
export const useHold = create<{ readonly isHeld: boolean }>()(() => ({ isHeld: false }));

/** While held nothing is read again, neither by the clock nor because the stream tells of it; what was never read is read once. */
const UNLESS_HELD = {
  refetchInterval: () => !useHold.getState().isHeld && EVERY_MS,
  enabled: ({ state }: { readonly state: { readonly data: unknown } }) =>
    !useHold.getState().isHeld || state.data === undefined,
} as const;

export const healthQuery = queryOptions({
  queryKey: ["monitor", "health"] as const,
  queryFn: ({ signal }) => client.getMonitorHealth({}, { signal }),
  ...UNLESS_HELD,
});

export const dashboardQuery = queryOptions({
  queryKey: ["monitor", "dashboard"] as const,
  queryFn: ({ signal }) => client.getDashboard({}, { signal }),
  ...UNLESS_HELD,
});

export const analysesQuery = queryOptions({
  queryKey: ["monitor", "analyses"] as const,
  queryFn: ({ signal }) => client.listAnalyses({ query: { limit: SHOWN } }, { signal }),
  refetchInterval: EVERY_MS,
});

export const interventionsQuery = queryOptions({
  queryKey: ["monitor", "interventions"] as const,
  queryFn: ({ signal }) => client.listInterventions({ query: { limit: SHOWN } }, { signal }),
  refetchInterval: EVERY_MS,
});

export const analysisQuery = (analysisId: string) =>
  queryOptions({
    queryKey: ["monitor", "analysis", analysisId] as const,
    queryFn: ({ signal }) => client.getAnalysis({ params: { analysis_id: analysisId } }, { signal }),
  });

export const lastAnalysisQuery = (sandboxId: string) =>
  queryOptions({
    queryKey: ["monitor", "last-analysis", sandboxId] as const,
    queryFn: ({ signal }) => client.listAnalyses({ query: { limit: 1, sandbox_id: sandboxId } }, { signal }),
    refetchInterval: EVERY_MS,
  });

export const analysesOfQuery = (sandboxId: string) =>
  queryOptions({
    queryKey: ["monitor", "analyses", sandboxId] as const,
    queryFn: ({ signal }) => client.listAnalyses({ query: { limit: MOST, sandbox_id: sandboxId } }, { signal }),
    refetchInterval: EVERY_MS,
  });

export const interventionsOfQuery = (sandboxId: string) =>
  queryOptions({
    queryKey: ["monitor", "interventions", sandboxId] as const,
    queryFn: ({ signal }) => client.listInterventions({ query: { limit: MOST, sandbox_id: sandboxId } }, { signal }),
    refetchInterval: EVERY_MS,
  });

/** How far what was said to a run's agent came. */
export const receiptsQuery = (sandboxId: string) =>
  queryOptions({ ...messagesQuery(sandboxId), refetchInterval: EVERY_MS });

export const conductorQuery = queryOptions({
  queryKey: ["monitor", "conductor"] as const,
  queryFn: ({ signal }) => client.listConductorAnalyses({ query: { limit: SHOWN } }, { signal }),
  refetchInterval: EVERY_MS,
});

const SECONDS: Readonly<Record<MonitorRange, number>> = { "1h": 3_600, "6h": 21_600, "24h": 86_400, "7d": 604_800 };

const POINTS = 120;

/** Figures over time, up to now. */
export const metricsQuery = (range: MonitorRange) =>
  queryOptions({
    queryKey: ["monitor", "metrics", range] as const,
    queryFn: ({ signal }) => {
      const from = new Date(Date.now() - SECONDS[range] * 1_000).toISOString();
      return client.getMetrics({ query: { from, points: POINTS } }, { signal });
    },
    ...UNLESS_HELD,
    placeholderData: (before) => before,
  });

export const anomaliesQuery = queryOptions({
  queryKey: ["monitor", "anomalies"] as const,
  queryFn: ({ signal }) => client.listAnomalies({ query: { limit: SHOWN, hours: 168 } }, { signal }),
  refetchInterval: EVERY_MS,
});

export const anomalyQuery = (anomalyId: string) =>
  queryOptions({
    queryKey: ["monitor", "anomaly", anomalyId] as const,
    queryFn: ({ signal }) => client.getAnomaly({ params: { anomaly_id: anomalyId } }, { signal }),
  });

/** Of the last year. */
export const anomaliesOfQuery = (sandboxId: string) =>
  queryOptions({
    queryKey: ["monitor", "anomalies", sandboxId] as const,
    queryFn: ({ signal }) =>
      client.listAnomalies({ query: { limit: MOST, hours: 8_784, sandbox_id: sandboxId } }, { signal }),
    refetchInterval: EVERY_MS,
  });

export const statusQuery = queryOptions({
  queryKey: ["monitor", "status"] as const,
  queryFn: ({ signal }) => client.getMonitorStatus({}, { signal }),
  refetchInterval: EVERY_MS,
});

export const alertsQuery = queryOptions({
  queryKey: ["monitor", "alerts"] as const,
  queryFn: ({ signal }) => client.listAlerts({ query: { limit: SHOWN } }, { signal }),
  refetchInterval: EVERY_MS,
});

export const alertRulesQuery = queryOptions({
  queryKey: ["monitor", "alert-rules"] as const,
  queryFn: ({ signal }) => client.listAlertRules({ query: { limit: SHOWN } }, { signal }),
});

export const stuckTicketsQuery = queryOptions({
  queryKey: ["monitor", "stuck"] as const,
  queryFn: ({ signal }) => client.listStuckTickets({}, { signal }),
  refetchInterval: EVERY_MS,
});

export const diagnosesQuery = queryOptions({
  queryKey: ["monitor", "diagnoses"] as const,
  queryFn: ({ signal }) => client.listDiagnosticRuns({ query: { limit: SHOWN } }, { signal }),
  refetchInterval: EVERY_MS,
});
