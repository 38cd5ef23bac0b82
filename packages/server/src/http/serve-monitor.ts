/** Which use case answers which endpoint of the monitor. */
import type { monitorEndpoints } from "@drover/contract";
import { acknowledge, getAnomaly, pageAnomalies } from "../app/find-anomalies.ts";
import { lookAtRun, lookAtRuns } from "../app/look-at-run.ts";
import { readMetrics } from "../app/read-metrics.ts";
import { readStatus } from "../app/read-monitor.ts";
import { person, type Handlers } from "./context.ts";

export const monitorHandlers: Pick<Handlers, keyof typeof monitorEndpoints> = {
  getMetrics: (context, { query }) => readMetrics(context.deps, person(context), query),
  listAnomalies: (context, { query }) => pageAnomalies(context.deps, person(context), query),
  getAnomaly: (context, { params }) => getAnomaly(context.deps, person(context), params.anomaly_id),
  acknowledgeAnomaly: (context, { params }) => acknowledge(context.deps, person(context), params.anomaly_id),
  getMonitorStatus: (context) => readStatus(context.deps),
  analyseNow: (context, { params, query }) =>
    lookAtRun(context.deps, person(context), params.sandbox_id, query.force, context.signal),
  analyseInEmergency: (context, { body }) =>
    lookAtRuns(context.deps, person(context), "sandbox_ids" in body ? body.sandbox_ids : body, context.signal),
};
