/** Which use case answers which endpoint of supervision. */
import type { guardianActionEndpoints, guardianEndpoints } from "@drover/contract";
import {
  cancelInEmergency,
  getAction,
  overridePriority,
  pageActions,
  reallocate,
  revertAction,
} from "../app/act-in-emergency.ts";
import {
  getAnalysis,
  pageAnalyses,
  pageConductorAnalyses,
  readDashboard,
  readMonitorHealth,
} from "../app/read-monitor.ts";
import { pageInterventions, readSupervision } from "../app/read-supervision.ts";
import { person, type Handlers } from "./context.ts";

type Names = keyof typeof guardianEndpoints | keyof typeof guardianActionEndpoints;

export const guardianHandlers: Pick<Handlers, Names> = {
  getSupervision: (context, { params }) => readSupervision(context.deps, params.sandbox_id),
  listInterventions: (context, { query }) => pageInterventions(context.deps, person(context), query),
  listAnalyses: (context, { query }) => pageAnalyses(context.deps, person(context), query),
  getAnalysis: (context, { params }) => getAnalysis(context.deps, person(context), params.analysis_id),
  listConductorAnalyses: (context, { query }) => pageConductorAnalyses(context.deps, person(context), query),
  getMonitorHealth: (context) => readMonitorHealth(context.deps, person(context)),
  getDashboard: (context) => readDashboard(context.deps, person(context)),

  emergencyCancelTask: (context, { body }) => cancelInEmergency(context.deps, person(context), body),
  emergencyOverridePriority: (context, { body }) => overridePriority(context.deps, person(context), body),
  emergencyReallocate: (context, { body }) => reallocate(context.deps, person(context), body),
  listGuardianActions: (context, { query }) => pageActions(context.deps, person(context), query),
  getGuardianAction: (context, { params }) => getAction(context.deps, person(context), params.action_id),
  revertGuardianAction: (context, { params, body }) =>
    revertAction(context.deps, person(context), params.action_id, body.reason),
};
